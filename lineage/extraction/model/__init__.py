"""Language models behind one small port: nobody needs one, and none is asked that was not configured. (lessons: 14, 40)

`port` says what a model is, `prompts` what it is shown, `readings` and `proposals` what is taken from its answers: all
pure. `command` and `library` are the providers. Who counts the calls and holds them to the daily limit is
`lineage.pipeline.capture.model_quota`.
"""
