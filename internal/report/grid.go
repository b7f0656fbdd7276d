package report

import "throughline/internal/table"

// Grid and Column are a table of texts.
type (
	Grid   = table.Grid
	Column = table.Heading
)
