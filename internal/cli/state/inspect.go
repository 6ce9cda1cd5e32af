// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// NewConsoleCommand is "yuba console".
func NewConsoleCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "console NAME [EXPRESSION]...",
		Short: "Evaluate expressions with the state and the inputs of a stack",
		Long: `Evaluate expressions with the state, the variables and the functions of a stack, as "tofu console" does: the given ones, else those of
standard input, one on each line. Nothing is changed, nothing is asked, and no lock is taken. Each time is a run of its own on the
server, with the stack's environment and limits; on a terminal, each line is one.

You need the rights to change the state and to read it: expressions can show all that is in it. Sensitive values are
hidden; nonsensitive(…) shows them, but not values of Secrets. Only you can read the answer later.`,
		Example: "  yuba console vpc 'cidrsubnet(aws_vpc.main.cidr_block, 8, 2)'\n  echo 'keys(module.subnets)' | yuba console vpc",
		Args:    ui.Arguments(1, -1), ValidArgsFunction: a.StackNames(false),
	}
	cmd.RunE = a.OnName(func(ctx context.Context, s *session.Session, key types.NamespacedName, expressions []string) error {
		for _, e := range expressions {
			if strings.ContainsAny(e, "\r\n") {
				return ui.UsageErrorf(cmd, "an expression is one line; write %q as one", ui.FirstLine(e, 60))
			}
		}
		switch {
		case len(expressions) > 0:
			return evaluate(ctx, s, key, strings.Join(expressions, "\n"))
		case s.Interactive():
			return converse(ctx, s, key)
		}
		text, err := io.ReadAll(io.LimitReader(s.In, run.MaxInput+1))
		if err != nil {
			return fmt.Errorf("read expressions: %w", err)
		}
		return evaluate(ctx, s, key, string(text))
	})
	return cmd
}

// evaluate shows the values of expressions.
func evaluate(ctx context.Context, s *session.Session, key types.NamespacedName, expressions string) error {
	if strings.TrimSpace(expressions) == "" {
		return ui.Exitf(ui.ExitUsage, "there is no expression. Name one, or write some to standard input:\n    echo 'terraform.workspace' | yuba console %s", s.Call(key))
	}
	return inspect(ctx, s, key, run.StateChange{Verb: run.StateConsole, Preview: true, Input: []byte(strings.TrimRight(expressions, "\r\n") + "\n")})
}

// converse evaluates lines until the input ends, or Ctrl-C. An expression that fails, or that the server refuses, does not
// end it.
func converse(ctx context.Context, s *session.Session, key types.NamespacedName) error {
	s.News("Expressions of %s, one on each line. Ctrl-D ends.", key)
	lines := bufio.NewReader(s.In)
	for {
		fmt.Fprint(s.Err, "> ")
		line, err := s.ReadLine(lines)
		if err != nil || line == "" {
			s.News("")
			return err
		}
		switch text := strings.TrimSpace(line); text {
		case "":
		case "exit":
			return nil
		default:
			err := evaluate(ctx, s, key, text)
			if err != nil && (ctx.Err() != nil || !isOfExpression(err)) {
				return err
			}
			if err != nil {
				s.News("%v", err)
			}
		}
	}
}

// isOfExpression reports whether another expression, or the same one later, may succeed.
func isOfExpression(err error) bool {
	var coded *ui.CodedError
	var status apierrors.APIStatus
	return errors.As(err, &coded) && coded.Code == ui.ExitRunFailed || errors.As(err, &status) && status.Status().Code/100 == 4
}

// inspect shows what a run that only reads says.
func inspect(ctx context.Context, s *session.Session, key types.NamespacedName, change run.StateChange) error {
	rec, err := carryChange(ctx, s, key, change, "")
	if err == nil {
		_, err = fmt.Fprintln(s.Out, rec.Result.Text)
	}
	return err
}

func newStateGraphCommand(a *session.App) *cobra.Command {
	return &cobra.Command{
		Use:   "graph NAME",
		Short: "Print which resources of a stack's program depend on which",
		Long: `Print which resources of a stack's program depend on which, in the language of Graphviz, as "tofu graph" does. "yuba graph" shows how
stacks depend on each other.`,
		Example: "  yuba state graph vpc | dot -Tsvg >vpc.svg",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
		RunE: a.OnName(func(ctx context.Context, s *session.Session, key types.NamespacedName, _ []string) error {
			return inspect(ctx, s, key, run.StateChange{Verb: run.StateGraph, Preview: true})
		}),
	}
}
