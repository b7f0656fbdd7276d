package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"

	"throughline/internal/table"
)

// On a terminal explain and simulate show bars that fit it; where none is, not a character of them.
func TestTerminalBars(t *testing.T) {
	notRacing(t)
	const blocks = "▏▎▍▌▋▊▉█▁▂▃▄▅▆▇"
	for _, args := range []string{
		"explain --model deepseek_v3_flash_mla_absorb --system H200 --dp 16 --batch 64 --weights fp8",
		"simulate --model llama_3_8b --system H200 --rate 20 --isl 512 --osl 64 --num-prompts 100",
	} {
		for _, bars := range []table.Bars{table.NoBars, table.ASCIIBars, table.BlockBars} {
			for _, width := range []int{80, 200} {
				var out, errs bytes.Buffer
				if code := Run(context.Background(), strings.Fields(args), Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Width: width, Bars: bars}); code != exitOK {
					t.Fatalf("%s: exit code %d: %s", args, code, &errs)
				}
				hasBlocks, hasASCII := strings.ContainsAny(out.String(), blocks), strings.Contains(out.String(), "#")
				if hasBlocks != (bars == table.BlockBars) || hasASCII != (bars == table.ASCIIBars) {
					t.Errorf("%s with bars %d at %d: blocks %v, ASCII %v", args, bars, width, hasBlocks, hasASCII)
				}
				for line := range strings.Lines(out.String()) {
					if n := text.StringWidthWithoutEscSequences(strings.TrimRight(line, "\n")); strings.ContainsAny(line, blocks+"#") && n > width {
						t.Errorf("%s: %d columns: %s", args, n, line)
					}
				}
			}
		}
	}
}

// Blocks need a terminal of UTF-8.
func TestBarsOf(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want table.Bars
	}{
		{map[string]string{"LANG": "en_US.UTF-8", "TERM": "xterm"}, table.BlockBars},
		{map[string]string{"LC_ALL": "C.utf8", "LANG": "C", "TERM": "linux"}, table.BlockBars},
		{map[string]string{"LC_ALL": "C", "LANG": "en_US.UTF-8"}, table.ASCIIBars},
		{map[string]string{"LANG": "en_US.UTF-8", "TERM": "dumb"}, table.ASCIIBars},
		{nil, table.ASCIIBars},
	} {
		if got := barsOf(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %v", c.env, got)
		}
	}
}
