-- alerted: the budget's alerts that are recorded
select
  object_uid,
  stage
from notifications
where cluster = '' and object_uid like 'budget/%'
