-- repriced_from: from when on a card, a rate or a tariff that came in the snapshots $after to $now changes prices; null without one
select epoch_ms(min(start_at)) as start_ms
from (
  select start_at from ducklake_table_insertions('lake', 'main', 'cards_versions', $after::bigint, $now::bigint)
  union all
  select start_at from ducklake_table_insertions('lake', 'main', 'rates', $after::bigint, $now::bigint)
  union all
  select start_at from ducklake_table_insertions('lake', 'main', 'tariffs_versions', $after::bigint, $now::bigint)
) as told_anew
