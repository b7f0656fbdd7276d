package document

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"throughline/internal/files"
)

// maxSize is far above any file that a person writes. A device or a model's
// weights given by mistake must not fill the memory.
const maxSize = 64 << 20

var errTooLarge = fmt.Errorf("is larger than %d MiB; this is no file of this program", maxSize>>20)

func ReadFile(in *files.Door, path string) ([]byte, error) {
	f, err := in.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f)
}

// ReadAll reads what has a reasonable size, wherever it comes from.
func ReadAll(r io.Reader) ([]byte, error) {
	src, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if len(src) > maxSize {
		return nil, errTooLarge
	}
	return src, err
}

// Unreadable turns the error of [ReadFile] into an [*Error]. If there is no
// such file, it names the file nearby that was probably meant.
func Unreadable(in *files.Door, path string, err error) error {
	message := Reason(err)
	switch info, statErr := in.Stat(path); {
	case statErr == nil && info.IsDir():
		message = "is a folder; name a file in it"
	case errors.Is(err, fs.ErrNotExist):
		message = "there is no such file" + didYouMean(filepath.Base(path), filesIn(in, filepath.Dir(path)))
	}
	return &Error{[]Problem{{File: path, Message: message}}}
}

// Reason is the text of an error without the path of the file, which the
// message around it names.
func Reason(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return err.Error()
}

func filesIn(in *files.Door, dir string) []string {
	entries, err := in.ReadDir(dir)
	if err != nil {
		return nil // only the hint is lost
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}
