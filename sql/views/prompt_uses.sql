-- One row per prompt that some request needs: the judge and strategy of the request that came
-- first, to which its tokens and dollars are counted. Other requests share it for nothing.
select
    prompt_hash,
    arg_min(judge, requests.rowid) as judge,
    arg_min(strategy, requests.rowid) as strategy,
    arg_min(answer, requests.rowid) as answer,
    count(*) as n_requests
from requests
group by prompt_hash
