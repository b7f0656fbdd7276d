package cli

import "github.com/spf13/cobra"

// addFrom adds the flag that takes a deployment from the rows of a plan.
func addFrom(cmd *cobra.Command, from *string) {
	cmd.Flags().StringVar(from, "from", "", "deployment of a row of throughline plan --json: plan.json#1, or #f2 of the frontier")
}
