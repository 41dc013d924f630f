-- committed_days: the business days on which commitments were charged
select distinct business_day
from charges
where kind = 'adjustment' and measure = 'commitment'
