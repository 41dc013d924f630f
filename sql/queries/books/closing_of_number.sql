-- closing_of_number: the hash of the closing that has the number
select sha256
from periods_versions
where state = 'closed' and number = $number
