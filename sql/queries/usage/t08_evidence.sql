-- evidence: the devices that the best evidence names for an allocation, with the span in which it does: the whole of it, but
-- what labels and processes show is so while they show it
create or replace temp table evidence as
with
told as (
  select
    a.c,
    a.a,
    a.source,
    a.s as bound,
    a.e as ended,
    h.holding_id,
    h.device_id,
    coalesce(h.parts, 0) as parts,
    epoch_ms(h.start_at) as s,
    coalesce(epoch_ms(h.end_at), $forever) as e,
    lead(epoch_ms(h.start_at), 1, $forever) over (partition by a.c, h.holding_id order by h.start_at) as next_s,
    case h.evidence when 'dra' then 0 when 'kubelet' then 1 when 'label' then 2 else 3 end as rank
  from holdings as h
  inner join asked_clusters as c on h.cluster = c.cluster
  inner join told_allocations as a on c.c = a.c and h.allocation_id = a.a
),

best as (
  select *
  from told
  where s < ended and e > bound
  qualify rank = min(rank) over (partition by c, a)
)

select
  c,
  a,
  device_id,
  arg_max(parts, s) as parts,
  any_value(bound) as s,
  any_value(ended) as e,
  any_value(bound) as bound,
  any_value(rank) as rank,
  false as by_label
from best
where source not in ('labels', 'nvml', 'slurm')
group by c, a, device_id
union all by name
select
  c,
  a,
  device_id,
  parts,
  greatest(s, bound) as s,
  least(e, ended, next_s) as e,
  bound,
  rank,
  source = 'labels' as by_label
from best
where source in ('labels', 'nvml', 'slurm')
