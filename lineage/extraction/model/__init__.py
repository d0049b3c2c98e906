"""Language models behind one small port, none required and none asked unless configured (lessons: 14, 40).

`port` has the protocols, `prompts` the questions, `parse_answer` and `proposals` the checks of answers: all pure.
`command` and `library` are the providers. `lineage.pipeline.capture.model_quota` counts calls and limits them.
"""
