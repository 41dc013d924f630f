-- ended_work: when workloads were stopped, of the outcomes that came in the snapshots $after to $now
select distinct epoch_ms(told_at) as told_ms
from ducklake_table_insertions('lake', 'main', 'deeds', $after::bigint, $now::bigint)
where phase = 'outcome' and result in ('done', 'undone')
