package model

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"

	"throughline/internal/catalogue"
)

//go:embed repositories.json
var repositoriesFile []byte

// repositories of Hugging Face for the built-in models and their aliases, by folded name.
var repositories = func() map[string]string {
	var file struct{ Repositories map[string]string }
	if err := json.Unmarshal(repositoriesFile, &file); err != nil {
		panic(err)
	}
	out := map[string]string{}
	for name, repository := range file.Repositories {
		out[catalogue.Fold(name)] = repository
	}
	return out
}()

// Repository is the Hugging Face repository of a built-in model, by its requested name. Other
// trainings (Llama-3.1-8B-Instruct) belong to the same organisation; other number formats to
// whoever made them, so none is known. A name with an organisation is one already.
func Repository(ref string) (string, bool) {
	if organisation, name, ok := strings.Cut(ref, "/"); ok && organisation != "" && name != "" && !strings.ContainsAny(name, `/\`) && !strings.HasPrefix(organisation, ".") {
		return ref, true
	}
	if found, ok := repositories[catalogue.Fold(ref)]; ok {
		return found, true
	}
	name, rest := ref, ""
	for NamedFormat(ref) == "" {
		at := strings.LastIndexAny(name, "-_ ")
		if at < 1 {
			return "", false
		}
		word := strings.ToLower(name[at+1:])
		isDate := len(word) == 4 && strings.Trim(word, "0123456789") == ""
		if !isDate && !slices.Contains(Catalogue.Endings, word) {
			return "", false
		}
		name, rest = name[:at], name[at:]+rest
		if found, ok := repositories[catalogue.Fold(name)]; ok {
			return strings.TrimSuffix(found, rest) + rest, true
		}
	}
	return "", false
}
