package collective

type Mode struct{}
