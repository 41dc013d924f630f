-- last_closing: the highest number that was given to a closing, and its hash
select
  number,
  sha256
from periods_versions
where number is not null and state = 'closed'
order by number desc
limit 1
