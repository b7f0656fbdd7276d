package cli

import "github.com/spf13/cobra"

// addFrom adds the flag that takes a deployment from the rows of a plan.
func addFrom(cmd *cobra.Command, from *string) {
	cmd.Flags().StringVar(from, "from", "", "take the deployment from a row of \"throughline plan --json\": plan.json#1, or plan.json#f2 for the frontier")
}
