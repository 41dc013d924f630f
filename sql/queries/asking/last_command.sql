-- last_command: when the cluster was last told to freeze or to thaw, whatever a clock says; null: never
select max(epoch_ms(asked_at)) as at_ms
from requests
where cluster = $cluster and list_contains(['freeze', 'thaw'], kind)
