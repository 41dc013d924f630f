-- seen_until: until when a source's holders were seen for the last time: its last watermark that no gap covers
select epoch_ms(max(w.complete_until_at))
from lake.watermarks as w
where
  w.cluster = $cluster
  and w.source = $source
  and w.covers = 'holders'
  and not exists (
    select 1
    from lake.gaps as g
    where
      g.cluster = w.cluster
      and g.source = w.source
      and g.covers = 'holders'
      and g.start_at < w.complete_until_at
      and (g.end_at is null or w.complete_until_at <= g.end_at)
  )
