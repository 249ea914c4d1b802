# awaits.awk: finds the forms of co_await that g++ 12 compiles to something else, in silence.
#
#   awk -f test/tidy/awaits.awk FILE...     prints FILE:LINE: what is wrong
#
# The rule: a statement has one co_await, and it is the whole of the statement or of what is
# assigned or returned. Not in a condition, an argument, braces or ?:, no braced argument and no
# capturing lambda behind it, and no coroutine that is itself a capturing lambda.
#
# It reads tokens, not syntax: brackets are stacked, each with its kind: "block" (statements),
# "braces" (an initialiser), "if", "while", "for", "switch" (what follows the word), "lambda" (the
# captures), "other". What is known of the statement under way is kept on the stack with its block.

FNR == 1 { Restart() }
{ line = $0; ReadLine() }

function Restart() {
  depth = 0
  kind[0] = "block"
  captures[0] = lambda[0] = 0  # Of the enclosing function; of a lambda whose body comes next.
  in_comment = in_directive = 0
  raw_end = ""
  StartStatement()
}

function StartStatement() {
  await_count[depth] = question[depth] = declares_type[depth] = arrow[depth] = lambda[depth] = 0
  previous = ";"
}

function Complain(what) { printf "%s:%d: %s\n", FILENAME, FNR, what }
function Twice(what) { return what " in a co_await expression: g++ 12 destroys it twice" }

# --- tokens -----------------------------------------------------------------------------------

# Takes what the regular expression matches at the start of the line off it, as `text`.
function Take(pattern) {
  if (!match(line, "^(" pattern ")")) return 0
  text = substr(line, 1, RLENGTH)
  line = substr(line, RLENGTH + 1)
  return 1
}

function SkipTo(end) {
  position = index(line, end)
  if (!position) { line = ""; return 0 }
  line = substr(line, position + length(end))
  return 1
}

function ReadLine() {
  if (in_directive || (!in_comment && raw_end == "" && line ~ /^[ \t]*#/)) {
    in_directive = (line ~ /\\$/)
    return
  }
  while (line != "") {
    if (in_comment) { if (SkipTo("*/")) in_comment = 0 }
    else if (raw_end != "") { if (SkipTo(raw_end)) raw_end = "" }
    else if (Take("[ \t\r]+")) continue
    else if (Take("//")) line = ""
    else if (Take("/[*]")) in_comment = 1
    else if (Take("(u8|[uUL])?R\"[^(]*[(]")) {
      raw_end = substr(text, index(text, "\"") + 1)
      raw_end = ")" substr(raw_end, 1, length(raw_end) - 1) "\""
      Token("\"")
    }
    else if (Take("\"([^\"\\\\]|\\\\.)*\"")) Token("\"")
    else if (Take("'([^'\\\\]|\\\\.)+'")) Token("'")
    else if (Take("[0-9][0-9A-Za-z_.']*")) Token("0")
    else if (Take("[A-Za-z_][A-Za-z0-9_]*")) Token(text)
    else if (Take("->|::|&&|[|][|]|[-=!<>+*/%&|^]=|\\[\\[|.")) Token(text)
  }
}

# --- statements -------------------------------------------------------------------------------

function Token(token) {
  if (token == "(") Open(previous ~ /^(if|while|for|switch)$/ ? previous : "other")
  else if (token == "[[") { Open("other"); Open("other") }
  else if (token == "[") Open(StartsLambda() ? "lambda" : "other")
  else if (token == "{") OpenBrace()
  else if (token == ")" || token == "]" || token == "}") Close(token)
  else if (token == ";" && kind[depth] == "block") StartStatement()
  else {
    if (token == "co_await") Await()
    if (token ~ /^co_(await|return|yield)$/ && captures[depth])
      Complain("a capturing lambda may not be a coroutine: its captures die before it ends")
    if (token == "?") Question()
    if (token == "." && previous == "{" && await_count[depth]) Complain(Twice("an aggregate"))
    if (token ~ /^(struct|class|union|enum|namespace|extern|requires)$/) declares_type[depth] = 1
    if (token == "->") arrow[depth] = 1
  }
  if (token == "constexpr" && previous == "if") return  # As if it were not there.
  if (token == ";" && kind[depth] == "block") return
  before_previous = previous
  previous = token
}

function Open(what) {
  captures[depth + 1] = captures[depth]
  await_count[depth + 1] = await_count[depth]
  ++depth
  kind[depth] = what
  question[depth] = declares_type[depth] = arrow[depth] = lambda[depth] = 0
}

function OpenBrace() {
  if (!StartsBlock()) {
    if (await_count[depth] && previous ~ /^[(,]$/)
      Complain(Twice("a braced argument"))
    Open("braces")
    return
  }
  owner = lambda[depth]
  lambda[depth] = 0
  Open("block")
  from_lambda[depth] = (owner != 0)
  if (owner) captures[depth] = (owner == "captures")
  await_count[depth] = 0
}

function Close(token) {
  if (depth == 0) return  # Unbalanced: by #if, or a macro's work.
  closed = kind[depth]
  from_function = from_lambda[depth]
  --depth
  if (closed == "lambda") {
    lambda[depth] = (previous == "[") ? "free" : "captures"
    if (lambda[depth] == "captures" && await_count[depth])
      Complain(Twice("a capturing lambda"))
  }
  if (closed == "block" && !from_function) StartStatement()
  if (token == ")") arrow[depth] = 0
}

function StartsLambda() {
  return previous ~ /^([(,=!?:;{}<]|&&|[|][|]|return|co_return|co_await|co_yield)$/
}

# Whether the brace that comes now holds statements or members, not the parts of a value.
function StartsBlock() {
  if (lambda[depth]) return 1
  if (previous == "{" || previous == "}") return kind[depth] == "block"
  if (previous ~ /^([);:&]|&&|else|do|try|const|noexcept|override|final|mutable)$/) return 1
  if (previous !~ /^([A-Za-z_][A-Za-z0-9_]*|[]>"])$/) return 0
  if (previous ~ /^(return|co_return|co_yield|co_await)$/) return 0
  return declares_type[depth] || arrow[depth] || before_previous == ")"
}

function Await() {
  ++await_count[depth]
  for (level = depth; kind[level] != "block"; --level) {
    if (kind[level] ~ /^(if|while|for|switch)$/) {
      Complain("co_await in the parentheses of " kind[level] ": name its result the line before")
      return
    }
    if (kind[level] == "braces") {
      Complain("co_await inside braces: name its result the line before")
      return
    }
  }
  if (question[level])
    Complain("co_await inside ?: - write an if")
  else if (await_count[depth] > 1)
    Complain("more than one co_await in a statement")
  else if (level != depth || previous !~ /^([=;{}):]|else|do|co_return)$/)
    Complain("co_await inside an expression: name its result the line before")
}

function Question() {
  question[depth] = 1
  if (await_count[depth]) Complain("co_await inside ?: - write an if")
}
