package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"throughline/internal/shell"
	"throughline/number"
)

// Script is the fleet as a shell script to run on every node with its number: it starts the node's
// servers, on node 0 the router once all answer, and stops everything when one of them ends or it
// is stopped. The title is a comment on top.
func (f *Fleet) Script(title ...string) string {
	var b strings.Builder
	writef := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	writef("#!/usr/bin/env bash")
	for _, line := range title {
		writef("%s", comment("", line))
	}
	if f.Nodes == 1 {
		writef("#\n# Run it on the node, with")
	} else {
		writef("#\n# Run it on each of the %d nodes, with", f.Nodes)
	}
	writef("#   NODES  addresses of the nodes, with spaces between them, the same on all")
	writef("#   NODE   which of them this is, from 0")
	writef("#   MODEL  path or repository of the checkpoint")
	for _, r := range f.Remarks {
		writef("%s", comment("note: ", r))
	}
	if u := f.programs[0].unit; takes(u) {
		writef("%s", comment("note: ", contextRemark(u)))
	}
	writef("set -euo pipefail")
	if f.Model == "" {
		writef(`MODEL=${MODEL:?path or repository of the checkpoint}`)
	} else {
		writef(`MODEL=${MODEL:-%s}`, shell.Quote(f.Model))
	}
	writef("NODE=${NODE:-0}")
	if f.Nodes == 1 {
		writef("NODES=${NODES:-127.0.0.1}")
	} else {
		writef("NODES=${NODES:?addresses of the %d nodes}", f.Nodes)
	}
	writef(preamble, f.Nodes, f.Nodes)
	for _, p := range f.programs {
		f.function(writef, p.role)
	}
	for i := range f.Servers {
		f.start(writef, &f.Servers[i])
	}
	f.entry(writef)
	return b.String()
}

// preamble checks the variables, and stops everything at the end.
const preamble = `export MODEL
read -r -a node <<<"$NODES"
if [ "${#node[@]}" -ne %d ]; then
  echo "NODES has ${#node[@]} addresses, not %d" >&2
  exit 2
fi
ADDRESS=${node[NODE]:?NODE is none of NODES}
export ADDRESS

files=$(mktemp -d)
pids=()
nap=
stop() {
  trap - EXIT INT TERM
  set +u # there may be no last one
  for pid in "${pids[@]}" "$nap" "$!"; do # the last may not be in pids yet
    kill "$pid" 2>/dev/null || true
  done
  wait || true
  rm -rf "$files"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# pause is a while that a signal ends.
pause() {
  sleep "${POLL:-5}" &
  nap=$!
  wait "$nap"
}

# alive ends the script when something that it started has ended.
alive() {
  for pid in "${pids[@]}"; do
    if ! kill -0 "$pid" 2>/dev/null; then
      echo "process $pid has ended" >&2
      exit 1
    fi
  done
}

# answer waits until servers answer.
answer() {
  for address in "$@"; do
    until curl -fs -o "$files/health" --max-time 5 "http://$address/health"; do
      alive
      pause
    done
  done
}
`

func (f *Fleet) function(writef func(string, ...any), role string) {
	first := f.Servers[slices.IndexFunc(f.Servers, func(s Server) bool { return s.Role == role })]
	if first.Config != "" {
		writef("cat >\"$files/%s.yml\" <<'END'\n%sEND", role, first.Config)
	}
	writef("%s() {", role)
	if len(first.Later) > 0 {
		writef("  later=()")
		writef("  if [ \"$NODE_RANK\" -gt 0 ]; then")
		writef("    later=(%s)", joined(first.Later))
		writef("  fi")
	}
	if first.Config != "" {
		writef("  CONFIG=$files/%s.yml", role)
	}
	for _, name := range slices.Sorted(maps.Keys(first.Variables)) {
		if first.Devices == nil || name != f.visible(f.unit(role)) {
			writef("  export %s=%s", name, shellWord(first.Variables[name]))
		}
	}
	command := "  exec " + wrapWords(first.Command, "    ")
	if len(first.Later) > 0 {
		command += " \\\n    \"${later[@]}\""
	}
	writef("%s", command)
	writef("}\n")
}

// start runs a server on its nodes.
func (f *Fleet) start(writef func(string, ...any), s *Server) {
	u := f.unit(s.Role)
	nodes := s.Nodes
	if strings.Contains(s.Command[0], "srun") {
		nodes = nodes[:1] // which starts those of the others
	}
	var set []string
	note := func(when bool, format string, args ...any) {
		if when {
			set = append(set, fmt.Sprintf(format, args...))
		}
	}
	note(true, "PORT=%d", s.Port)
	note(slices.Contains(s.Command, "$BOOTSTRAP_PORT"), "BOOTSTRAP_PORT=%d", s.Bootstrap)
	note(s.Variables["VLLM_NIXL_SIDE_CHANNEL_PORT"] != "", "SIDE_PORT=%d", s.Side)
	note(s.Devices != nil, "%s=%s", f.visible(u), s.devices())
	if u.nodes > 1 {
		inside := strings.Join(slices.Concat(s.Command, s.Later), " ")
		note(strings.Contains(inside, "NODE_RANK") || s.Later != nil, "NODE_RANK=$((NODE - %d))", s.Nodes[0])
		note(strings.Contains(inside, "HEAD_IP"), "HEAD_IP=${node[%d]}", s.Nodes[0])
		note(slices.Contains(s.Command, "$HOSTS"), `HOSTS=$(IFS=,; echo "${node[*]:%d:%d}")`, s.Nodes[0], len(s.Nodes))
	}
	writef("# %s, on %s", s.Name, where(nodes))
	if condition := within(nodes, f.Nodes); condition != "" {
		writef("if %s; then\n  %s \\\n    %s &\n  pids+=(\"$!\")\nfi\n", condition, strings.Join(set, " "), s.Role)
		return
	}
	writef("%s \\\n  %s &\npids+=(\"$!\")\n", strings.Join(set, " "), s.Role)
}

// within is the condition that a node is one of several.
func within(nodes []int, all int) string {
	switch first, last := nodes[0], nodes[len(nodes)-1]; {
	case len(nodes) == all:
		return ""
	case first == last:
		return fmt.Sprintf(`[ "$NODE" -eq %d ]`, first)
	default:
		return fmt.Sprintf(`[ "$NODE" -ge %d ] && [ "$NODE" -le %d ]`, first, last)
	}
}

func where(nodes []int) string {
	if len(nodes) == 1 {
		return fmt.Sprintf("node %d", nodes[0])
	}
	return fmt.Sprintf("nodes %d to %d", nodes[0], nodes[len(nodes)-1])
}

// entry waits for the servers and starts the router, on node 0.
func (f *Fleet) entry(writef func(string, ...any)) {
	var addresses []string
	for i := range f.Servers {
		addresses = append(addresses, shellWord(f.Servers[i].address()))
	}
	writef("if [ \"$NODE\" -eq 0 ]; then")
	writef("  answer %s", strings.Join(addresses, " \\\n    "))
	if r := f.Router; r != nil {
		if r.Config != "" {
			writef("  CONFIG=$files/router.yml\n  cat >\"$CONFIG\" <<END\n%sEND", r.Config)
		}
		writef("  %s &\n  pids+=(\"$!\")\n  answer \"${node[0]}:%d\"", wrapWords(r.Command, "    "), f.Port)
	}
	if f.Port > 0 {
		writef("  echo \"http://${node[0]}:%d answers\"", f.Port)
	} else {
		writef("  echo \"%s answer\"", number.Count(len(f.Servers), "server"))
	}
	writef("fi\n\n# Until one of them ends.\nwhile [ \"${#pids[@]}\" -gt 0 ]; do\n  alive\n  pause\ndone")
}

func shellWord(s string) string {
	if strings.Contains(s, "$") {
		return `"` + s + `"`
	}
	return shell.Quote(s)
}

func joined(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = shellWord(w)
	}
	return strings.Join(out, " ")
}

// wrapWords formats a command with one option per line.
func wrapWords(command []string, indent string) string {
	var b strings.Builder
	for i, w := range command {
		switch {
		case i == 0:
		case strings.HasPrefix(w, "--") || strings.HasPrefix(w, "http://") && i > 0 && !strings.HasPrefix(command[i-1], "--"):
			b.WriteString(" \\\n" + indent)
		default:
			b.WriteString(" ")
		}
		b.WriteString(shellWord(w))
	}
	return b.String()
}

const commentWidth = 76

// comment wraps text behind a mark, with a hanging indent.
func comment(mark, text string) string {
	var b strings.Builder
	b.WriteString("# " + mark)
	under := "# " + strings.Repeat(" ", max(2, len(mark)))
	width := 2 + len(mark)
	for i, word := range strings.Fields(text) {
		switch n := utf8.RuneCountInString(word); {
		case i == 0:
			width += n
		case width+1+n > commentWidth:
			b.WriteString("\n" + under)
			width = len(under) + n
		default:
			b.WriteString(" ")
			width += 1 + n
		}
		b.WriteString(word)
	}
	return b.String()
}
