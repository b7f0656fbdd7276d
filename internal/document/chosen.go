package document

// Chosen is the origin of a number that was chosen with results in view:
// predictions of those runs say less about it than others do.
type Chosen struct {
	Runs string `json:"runs" required:"true" nonempty:"true" doc:"what was in view"`
	Date string `json:"date" required:"true" nonempty:"true" doc:"when, as 2006-01-02"`
}
