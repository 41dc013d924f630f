-- heard_until: up to when who is believed about holders has told them: a gap that is open is not told
with
believed as (
  select arg_min(source, (rank, source)) as source
  from authority
  where
    cluster = $cluster and kind = 'holders'
    and epoch_ms(start_at) <= $at_ms and coalesce(epoch_ms(end_at), $forever) > $at_ms
)

select least(
  (
    select epoch_ms(max(w.complete_until_at))
    from watermarks as w
    inner join believed as b on w.source = b.source
    where w.cluster = $cluster and w.covers = 'holders'
  ),
  (
    select epoch_ms(min(g.start_at))
    from gaps as g
    inner join believed as b on g.source = b.source
    where
      g.cluster = $cluster and g.covers = 'holders' and g.node = ''
      and epoch_ms(g.start_at) <= $at_ms and coalesce(epoch_ms(g.end_at), $forever) > $at_ms
  )
) as heard_until_ms
