-- One row per trajectory, setting (strategy, strategy_digest, gold, judge) and repeat that was asked
-- about its redundant steps, however many requests it took. A prediction without its request still
-- counts as asked.
select trajectory_id, strategy, strategy_digest, gold, judge, repeat
from requests
where answer not in ('kind', 'evidence')
union
select trajectory_id, strategy, strategy_digest, gold, judge, repeat
from predictions
