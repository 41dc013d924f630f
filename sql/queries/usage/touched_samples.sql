-- touched spans of samples: as far before and after each as one may speak
insert into touched
select
  min(epoch_ms(sampled_at)) - $longest_hold_ms as from_ms,
  max(epoch_ms(sampled_at)) + $longest_hold_ms + 1 as until_ms
from ducklake_table_insertions('lake', 'main', 'samples', $after::bigint, $now::bigint)
where cluster = $cluster and sampled_at < $before_at
group by epoch_ms(sampled_at) // $hour_ms
