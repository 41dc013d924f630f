-- erased: whether a name was erased so long ago that its snapshots may be forgotten
select count(*) > 0 as is_due
from people_reads
where what = 'erase' and epoch_us(read_at) <= $until_us
