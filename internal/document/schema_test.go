package document

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (*union) DocumentSchema() map[string]any {
	number := map[string]any{"type": "number"}
	return map[string]any{"anyOf": []any{number, map[string]any{"type": "array", "items": number}}}
}

type plan struct {
	common
	Mode    *string            `json:"mode" enum:"a,b"`
	Share   float64            `json:"share" range:"(0,1]" required:"true"`
	Counts  []int              `json:"counts" range:"[1,inf)" nonempty:"true"`
	Grid    [2]*float64        `json:"grid" null:"ok"`
	Types   map[string]float64 `json:"types" keys:"x,y" nonempty:"true"`
	Parts   []part             `json:"parts"`
	Any     probe              `json:"any" doc:"Anything <goes>."`
	Union   *union             `json:"union" doc:"One or many."`
	Title   string             `json:"title" nonempty:"true"`
	Flag    bool               `json:"flag"`
	private int
}

func TestSchema(t *testing.T) {
	got, err := Schema("Plan", "https://example.com/plan.json", &plan{private: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "$id": "https://example.com/plan.json",
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "additionalProperties": false,
  "properties": {
    "$schema": {
      "type": "string"
    },
    "any": {
      "description": "Anything <goes>."
    },
    "counts": {
      "items": {
        "minimum": 1,
        "type": "integer"
      },
      "minItems": 1,
      "type": "array"
    },
    "flag": {
      "type": "boolean"
    },
    "grid": {
      "items": {
        "type": [
          "number",
          "null"
        ]
      },
      "maxItems": 2,
      "minItems": 2,
      "type": [
        "array",
        "null"
      ]
    },
    "mode": {
      "enum": [
        "a",
        "b",
        null
      ],
      "type": [
        "string",
        "null"
      ]
    },
    "name": {
      "description": "What it is called.",
      "type": "string"
    },
    "parts": {
      "items": {
        "additionalProperties": false,
        "properties": {
          "x": {
            "type": "integer"
          },
          "y": {
            "type": "integer"
          }
        },
        "required": [
          "x"
        ],
        "type": "object"
      },
      "type": "array"
    },
    "share": {
      "exclusiveMinimum": 0,
      "maximum": 1,
      "type": "number"
    },
    "title": {
      "minLength": 1,
      "type": "string"
    },
    "types": {
      "additionalProperties": {
        "type": "number"
      },
      "minProperties": 1,
      "propertyNames": {
        "enum": [
          "x",
          "y"
        ]
      },
      "type": "object"
    },
    "union": {
      "anyOf": [
        {
          "anyOf": [
            {
              "type": "number"
            },
            {
              "items": {
                "type": "number"
              },
              "type": "array"
            }
          ]
        },
        {
          "type": "null"
        }
      ],
      "description": "One or many."
    }
  },
  "required": [
    "share"
  ],
  "title": "Plan",
  "type": "object"
}
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("Schema (-want +got):\n%s", diff)
	}
}

func TestSchemaFails(t *testing.T) {
	type tree struct {
		Children []tree `json:"children"`
	}
	type unsupported struct {
		C chan int `json:"c"`
	}
	for _, v := range []any{tree{}, unsupported{}} {
		if _, err := Schema("", "", v); err == nil {
			t.Errorf("Schema of %T did not fail", v)
		}
	}
}

func TestLeaves(t *testing.T) {
	type op struct {
		Scalar float64       `json:"op_scalar"`
		Table  [][2]*float64 `json:"table"`
	}
	type network struct {
		Ops map[string]op `json:"ops"`
	}
	type system struct {
		common
		Networks []*network         `json:"networks"`
		Matrix   map[string]float64 `json:"matrix"`
		Rows     []map[string][]int `json:"rows"`
		Memory   *struct {
			GiB float64 `json:"GiB"`
		} `json:"mem1"`
		Us     []union          `json:"us"`
		ByName map[string]union `json:"by_name"`
		Empty  struct{}         `json:"empty"`
	}
	want := []string{
		"name",
		"networks[].ops.*.op_scalar",
		"networks[].ops.*.table",
		"matrix.*",
		"rows[].*",
		"mem1.GiB",
		"us",
		"by_name.*",
		"empty",
	}
	if diff := cmp.Diff(want, Leaves(&system{})); diff != "" {
		t.Errorf("Leaves (-want +got):\n%s", diff)
	}
}
