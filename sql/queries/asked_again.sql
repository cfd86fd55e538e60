-- The prompts that round $1 asks in the place of those of the temporary table `scope`.
select rechecks.again_hash as prompt_hash, min(scope.mode) as mode
from scope
join rechecks using (prompt_hash)
where rechecks.round = $1
group by rechecks.again_hash
