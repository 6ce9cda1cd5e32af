// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// scopeHelp explains the flags of commands about the users of modules and providers.
const scopeHelp = `The command is about the stacks of all namespaces, or with -n those of one. All namespaces require the right to list the resource
%q of the API group content.yuba.dev everywhere; the role "view" has it.`

// scope is the namespace whose stacks a command is about. A registry serves all namespaces, so
// unlike other commands, these do not begin with that of the context.
type scope struct {
	app *session.App
	all bool
}

// addScope adds -A, which says what is the default anyway.
func addScope(cmd *cobra.Command, a *session.App) *scope {
	s := &scope{app: a}
	cmd.Flags().BoolVarP(&s.all, "all-namespaces", "A", false, "all namespaces, which is the default without -n")
	return s
}

// namespace is empty for all namespaces.
func (s *scope) namespace(cmd *cobra.Command) (string, error) {
	if s.all && s.app.NamespaceFlag() != "" {
		return "", ui.UsageErrorf(cmd, "-A and -n %s are both given: want one of them", s.app.NamespaceFlag())
	}
	return s.app.NamespaceFlag(), nil
}

// sayIncomplete warns of a list of a server that has just started.
func sayIncomplete(s *session.Session, incomplete bool) {
	if incomplete {
		s.News("The server has just started and still reads what it knows: the list may lack stacks.")
	}
}
