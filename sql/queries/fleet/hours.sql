-- hours: each hour of which the ledger has usage, within a span, that the reader may see
select distinct epoch_ms(date_trunc('hour', row_start_at)) as start_ms
from usage_hourly
where
  row_start_at >= make_timestamptz($from_ms::bigint * 1000)
  and row_start_at < make_timestamptz($until_ms::bigint * 1000)
  and ($teams is null or list_contains($teams::varchar[], team))
order by start_ms
