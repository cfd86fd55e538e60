-- One row per prompt that some request needs: judge, strategy and trajectory of the request that
-- came first (the least rowid), to which its tokens and dollars are counted. Other requests share it for nothing.
select
    prompt_hash,
    arg_min(judge, requests.rowid) as judge,
    arg_min(strategy, requests.rowid) as strategy,
    arg_min(answer, requests.rowid) as answer,
    arg_min(trajectory_id, requests.rowid) as trajectory_id,
    count(*) as n_requests
from requests
group by prompt_hash
