-- One row a trajectory: its length in messages, and the paper's level of it.
--   level, messages  1 = up to 18, 2 = 19-30, 3 = 31-49, 4 = 50 and above; the same in words
select
    trajectory_id,
    domain,
    n_messages,
    case
        when n_messages <= 18 then 1
        when n_messages <= 30 then 2
        when n_messages <= 49 then 3
        else 4
    end as level,
    ['1-18', '19-30', '31-49', '50+'][level] as messages
from trajectories
