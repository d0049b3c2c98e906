// Reads Markdown texts, one JSON string a line, as an Obsidian-flavoured reader does, and prints the kinds of their nodes.
import {unified} from 'unified'
import remarkParse from 'remark-parse'
import remarkGfm from 'remark-gfm'
import remarkMath from 'remark-math'
import * as obsidian from '@quartz-community/remark-obsidian'
import readline from 'node:readline'

const reader = unified()
  .use(remarkParse)
  .use(remarkGfm)
  .use(remarkMath)
  .use(obsidian.default ?? obsidian.remarkObsidian)

function collect(node, kinds) {
  const task = node.type === 'listItem' && node.checked != null ? 'task' : node.type
  kinds.add(node.type === 'code' ? `code:${node.lang ?? ''}` : task)
  for (const child of node.children ?? []) collect(child, kinds)
  return kinds
}

for await (const line of readline.createInterface({input: process.stdin})) {
  // Parsed and not transformed: that would take comments away.
  console.log(JSON.stringify([...collect(reader.parse(JSON.parse(line)), new Set())].sort()))
}
