-- touched spans of cuts: their hour
insert into touched
select
  epoch_ms(cut_at) as from_ms,
  epoch_ms(cut_at) + 1 as until_ms
from ducklake_table_insertions('lake', 'main', 'cuts', $after::bigint, $now::bigint)
