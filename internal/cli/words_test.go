package cli

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// otherNames are words for things that have another name here: docs/words.md.
var otherNames = regexp.MustCompile(`\b(per card|cards? of|cube|processors?|npus?|accelerators?|[a-z]+_microbatchsize|SLOs?|iterations?|scale-up|scale-out)\b| -\d+(\.\d+)?%`)

// TestOneVocabulary: what commands print has one name for one thing, and a minus sign for what is
// less.
func TestOneVocabulary(t *testing.T) {
	notRacing(t)
	page := string(readFile(t, "../../docs/words.md"))
	for _, word := range []string{"GPU", "engine", "unit", "band", "chance"} {
		if !strings.Contains(page, "\n| "+word+" |") {
			t.Errorf("docs/words.md does not list %q", word)
		}
	}
	dir := t.TempDir()
	for _, args := range []string{
		"plan --model llama_3_8b --system H200 --gpus 4 --tpot 20ms",
		"estimate --model llama_3_8b --system H200 --batch 8",
		"explain --model llama_3_8b --system H200 --batch 8",
		"simulate --model llama_3_8b --system H200 --rate 2 --isl 200 --osl 20 --num-prompts 50",
		"diff H100_SXM H200",
		"systems",
		"explain --model llama_3_8b --system 910C_with_1die --batch 8",
		"comm --system H200 --library deepep --ep 8,16",
		"run -c ../../configs/split_and_fusion.json -o " + dir,
		"estimate --model llama_3_8b --system H200 --batch 8:32:x2 --isl 1k,2k --html " + dir + "/several.html",
		"plan --model llama_3_8b --system H200 --gpus 1 --tpot 0.1ms",
		"plan --model llama_3_8b --system H200 --gpus 2 --tpot 20ms --html " + dir + "/plan.html",
		"explain --model llama_3_8b --system H200 --batch 8 --html " + dir + "/explain.html --chart energy=" + dir + "/energy.svg,roofline=" + dir + "/roofline.svg",
		"simulate --model llama_3_8b --system H200 --rate 2 --isl 200 --osl 20 --num-prompts 50 --html " + dir + "/simulate.html",
	} {
		_, out, said := attempt(strings.Fields(args)...)
		if other := otherNames.FindString(out + said); other != "" {
			t.Errorf("%s says %q", args, other)
		}
	}
	drawn, _ := filepath.Glob(dir + "/*.[hs][tv][mg]*")
	for _, file := range drawn {
		text := regexp.MustCompile(`(?s)<style>.*?</style>|<script.*?</script>|<td>[a-zA-Z_0-9()/%.]+</td>|title="[^"]*"|<details.*?</details>|<section id="s\d"><h2>(?:Assumptions|All fields).*?</section>`).ReplaceAllString(string(readFile(t, file)), "")
		if at := otherNames.FindStringIndex(text); at != nil {
			t.Errorf("%s says %q", filepath.Base(file), text[max(0, at[0]-80):at[1]+20])
		}
	}
	if len(drawn) < 6 {
		t.Errorf("%d pages and charts were read", len(drawn))
	}
}

// otherInProse are words for GPUs that pages and help do not use; what is between backquotes is a
// field.
var otherInProse = regexp.MustCompile(`(?i)\b(per card|cards of|processors?|npus?|accelerators?|SLOs?)\b`)

// ofHosts are the processors of hosts, which are no GPUs.
var ofHosts = regexp.MustCompile(`processor time|ascend-npus|system and processor as JSON|host's own processor|host's processor|as many at a time as there are processors|for both processors|waits for the processors|the same processors:|minutes of one processor`)

// TestOneVocabularyInProse: the pages of the docs and the help of all commands have the words of
// docs/words.md. The pages of the file formats keep those of the reference tool, whose runtime
// files are about processors on cards.
func TestOneVocabularyInProse(t *testing.T) {
	code := regexp.MustCompile("(?s)```.*?```|`[^`]*`|<!--.*?-->|\\]\\([^)]*\\)")
	checked := 0
	for _, file := range append(documents(t), "../../README.md") {
		switch name := filepath.Base(file); {
		case name == "formats.md" || name == "words.md", filepath.Base(filepath.Dir(file)) == "validation":
			continue
		}
		checked++
		text := ofHosts.ReplaceAllString(code.ReplaceAllString(string(readFile(t, file)), ""), "")
		for _, at := range otherInProse.FindAllStringIndex(text, -1) {
			t.Errorf("%s says %q", filepath.Base(file), text[max(0, at[0]-60):min(len(text), at[1]+20)])
		}
	}
	starters, _ := filepath.Glob("*.json")
	for _, file := range append(starters, "../../configs/reference_sample.json", "../../configs/split_and_fusion.json") {
		checked++
		if other := otherInProse.FindString(string(readFile(t, file))); other != "" {
			t.Errorf("%s says %q", file, other)
		}
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		checked++
		text := cmd.Long + cmd.Flags().FlagUsages()
		for _, at := range otherInProse.FindAllStringIndex(ofHosts.ReplaceAllString(text, ""), -1) {
			t.Errorf("%s --help says %q", cmd.CommandPath(), text[max(0, at[0]-60):min(len(text), at[1]+20)])
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(Streams{}))
	if checked < 50 {
		t.Errorf("%d pages and commands were read", checked)
	}
}
