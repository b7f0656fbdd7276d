package runs

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/files"
)

// Row is one run of a file, by column. From a result file it is the last run, the one at a
// position, or the last with a tag; from a table it is the first row or the one at a position.
func Row(in *files.Door, name, which string) (map[string]string, error) {
	f, err := csvfile.Open(in, name)
	if err != nil {
		return nil, document.Unreadable(in, name, err)
	}
	defer f.Close()
	if !IsResult(name) {
		return tableRow(name, which, f)
	}
	list, err := read(in, name, f)
	if err != nil {
		return nil, err
	}
	result, err := choose(list, which)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	row, err := rowOf(result)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return row, nil
}

func tableRow(name, which string, f io.Reader) (map[string]string, error) {
	n := 1
	if which != "" {
		var err error
		if n, err = strconv.Atoi(which); err != nil || n < 1 {
			return nil, fmt.Errorf("%s: %q is no number of a row", name, which)
		}
	}
	r := csvfile.NewReader(f, csvfile.Kept)
	header, err := r.Header()
	header = lowered(header)
	var cells []string
	for i := 0; i < n && err == nil; i++ {
		cells, err = r.Read()
	}
	if err == io.EOF || errors.Is(err, csvfile.ErrEmpty) {
		return nil, fmt.Errorf("%s: has no row %d", name, n)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	out := map[string]string{}
	for i, column := range header {
		if i < len(cells) {
			out[column] = strings.TrimSpace(cells[i])
		}
	}
	return out, nil
}

// lowered are the columns of the raw data sheet as they are looked up, such as "num_gpus" for
// "Num GPUs".
func lowered(header []string) []string {
	for i, name := range header {
		if low := strings.ReplaceAll(strings.ToLower(name), " ", "_"); !slices.Contains(header, low) {
			header[i] = low
		}
	}
	return header
}

// choose is a result by its number or its tag; the last where none is asked for.
func choose(list []map[string]any, which string) (map[string]any, error) {
	if which == "" {
		return list[len(list)-1], nil
	}
	if n, err := strconv.Atoi(which); err == nil {
		if n < 1 || n > len(list) {
			return nil, fmt.Errorf("has no result %d: there are %d", n, len(list))
		}
		return list[n-1], nil
	}
	var tags []string
	for _, keys := range slices.Backward(list) {
		tag, _ := keys["tag"].(string)
		if tag == which {
			return keys, nil
		}
		if tag != "" && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	if len(tags) == 0 {
		return nil, fmt.Errorf("has no result with the tag %s, nor any tag", which)
	}
	slices.Reverse(tags)
	return nil, errors.New("tag: " + document.NotOneOf(which, tags))
}

// sheetRow is a result in the columns of the raw data sheet, in lower case; nil: it is in others.
func sheetRow(result map[string]any) map[string]string {
	_, framework := result["framework"]
	_, gpu := result["gpu"]
	if !framework || !gpu {
		return nil
	}
	out := map[string]string{}
	for key := range result {
		if text := textOf(result, key); text != "" {
			out[key] = text
		}
	}
	return out
}
