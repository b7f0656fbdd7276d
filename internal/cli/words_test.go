package cli

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// otherNames are words for things that have another name here: docs/words.md.
var otherNames = regexp.MustCompile(`\b(per card|cards? of|cube|processors?|npus?|accelerators?|[a-z]+_microbatchsize|SLOs?|iterations?)\b| -\d+(\.\d+)?%`)

// TestOneVocabulary: what commands print has one name for one thing, and a minus sign for what is less.
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
