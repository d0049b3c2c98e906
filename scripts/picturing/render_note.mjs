// Reads a note and prints it as HTML, as an Obsidian-flavoured reader renders it.
import {unified} from 'unified'
import remarkParse from 'remark-parse'
import remarkGfm from 'remark-gfm'
import * as obsidian from '@quartz-community/remark-obsidian'
import remarkRehype from 'remark-rehype'
import rehypeStringify from 'rehype-stringify'
import {readFileSync} from 'node:fs'

const element = (tagName, properties, text) => ({
  type: 'element',
  tagName,
  properties,
  children: [{type: 'text', value: text}],
})
const handlers = {
  wikilink: (_, node) => element('a', {href: '#', className: 'internal-link'}, node.alias || node.path),
  tag: (_, node) => element('a', {href: '#', className: 'tag'}, `#${node.value}`),
}

const page = await unified()
  .use(remarkParse)
  .use(remarkGfm)
  .use(obsidian.default ?? obsidian.remarkObsidian)
  .use(remarkRehype, {handlers})
  .use(rehypeStringify)
  .process(readFileSync(0, 'utf8'))
console.log(String(page))
