package formats

import (
	"slices"
	"testing"
)

func TestModelKeys(t *testing.T) { runAll(t, slices.Concat(modelTests, mixTests)) }

func TestSystemKeys(t *testing.T) { runAll(t, systemTests) }

func runAll(t *testing.T, tests []keyTest) {
	for i, k := range tests {
		t.Run(k.name(i), func(t *testing.T) {
			t.Parallel()
			k.run(t)
		})
	}
}
