-- heard: until when it is known who waits and who holds
select epoch_ms(max(complete_until_at)) as until_ms
from watermarks
where covers = 'holders'
