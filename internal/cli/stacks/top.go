// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// NewTopCommand is "yuba top".
func NewTopCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show a live overview of all stacks and runs",
		Long: `Show a live overview of all stacks: how many are ready, wait for approval or for dependencies, fail, have drifted, are
suspended, or are paused by a circuit breaker; the running and queued runs, how many ended in the last minute, the resource
usage of the server and its runner, and the slowest recent runs. With -n only the stacks and runs of that namespace.

Press "q" or Ctrl-C to end it. Without a terminal, with --once or with -o, the command prints one snapshot.`,
		Example: "  yuba top\n  yuba top -n team-a\n  yuba top --once\n  yuba top -o json",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	once := cmd.Flags().Bool("once", false, "print one snapshot and end")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, _ []string) error {
		t := &top{Session: s, namespace: a.NamespaceFlag()}
		if screen, ok := a.Out.(*os.File); ok && ui.IsTerminal(screen) && !*once && !out.Machine() {
			return t.live(cmd.Context(), screen)
		}
		return t.once(cmd.Context(), out)
	})
	return cmd
}

type top struct {
	*session.Session
	// namespace limits what is shown; empty for all.
	namespace string
	fleet     fleet
	view      topView
}

type topAnswer struct {
	Stacks  map[string]int       `json:"stacks"`
	Figures content.Figures      `json:"figures"`
	Runs    []content.QueueEntry `json:"runs"`
}

// topRows limits each list without a screen.
const topRows = 10

func (t *top) once(ctx context.Context, out *ui.Output) error {
	if _, err := t.fleet.list(ctx, t.Session, t.namespace); err != nil {
		return t.explain(err)
	}
	if err := t.ask(ctx); err != nil {
		return t.explain(err)
	}
	t.view.stacks = t.fleet.count()
	if out.Machine() {
		answer := topAnswer{Stacks: t.view.stacks.byName(), Figures: t.view.figures, Runs: t.view.runs}
		if answer.Runs == nil {
			answer.Runs = []content.QueueEntry{}
		}
		return out.Print(t.Out, answer)
	}
	width := t.Room(t.Out, out)
	for _, line := range t.view.lines(screenSize{width: width}) {
		fmt.Fprintln(t.Out, line.cut(width).text(t.Colors(t.Out)))
	}
	return nil
}

func (t *top) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, topPatience)
	defer cancel()
	figures, err := t.Content.Figures(ctx)
	if err != nil {
		return fmt.Errorf("ask the server for its figures: %w", err)
	}
	queue, err := t.Content.Queue(ctx)
	if err != nil {
		return fmt.Errorf("ask the server for its queue: %w", err)
	}
	t.view.take(figures, queue, t.namespace)
	return nil
}

const (
	// topEvery is the interval between requests.
	topEvery = time.Second
	// topSettles is how long changes are collected before they are shown.
	topSettles = 100 * time.Millisecond
	// topPatience limits one request.
	topPatience = 10 * time.Second
)

func (t *top) explain(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w\nThe overview of all namespaces needs a ClusterRoleBinding to the role view; use -n to show the stacks of one namespace", err)
	}
	return err
}

// The terminal sequences of a full-screen view: the alternate screen, without a cursor.
const (
	screenBegin = "\x1b[?1049h\x1b[?25l"
	screenEnd   = "\x1b[?25h\x1b[?1049l"
	screenHome  = "\x1b[H"
	lineRest    = "\x1b[K"
	screenRest  = "\x1b[J"
)

func (t *top) live(ctx context.Context, screen *os.File) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := t.ask(ctx); err != nil {
		return t.explain(err)
	}
	problems := make(chan error, 1)
	go func() { problems <- t.fleet.follow(ctx, t.Session, t.namespace) }()
	restore, keys := t.keys(ctx)
	defer restore()
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	fmt.Fprint(screen, screenBegin)
	defer fmt.Fprint(screen, screenEnd)
	tick := time.NewTicker(topEvery)
	defer tick.Stop()
	changes, settled := t.fleet.changes(), (<-chan time.Time)(nil)
	for {
		if changes != nil {
			if err := t.draw(screen); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case key := <-keys:
			if key == 'q' || key == 'Q' || key == ctrlC {
				return nil
			}
		case err := <-problems:
			if ctx.Err() == nil && err != nil {
				return t.explain(err)
			}
		case <-resized:
		case <-changes:
			// Many stacks may change at once: draw only after that.
			changes, settled = nil, time.After(topSettles)
		case <-settled:
			changes, settled = t.fleet.changes(), nil
		case <-tick.C:
			if err := t.ask(ctx); err != nil && ctx.Err() == nil {
				if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
					return t.explain(err)
				}
				t.view.trouble = err
			}
		}
	}
}

const ctrlC = 3

// keys returns the typed keys, one at a time; none without a terminal.
func (t *top) keys(ctx context.Context) (restore func(), keys <-chan byte) {
	in, ok := t.In.(*os.File)
	if !ok || !ui.IsTerminal(in) {
		return func() {}, nil
	}
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return func() {}, nil
	}
	typed := make(chan byte)
	go func() {
		var key [1]byte
		for {
			if n, err := in.Read(key[:]); err != nil || n == 0 {
				return
			}
			select {
			case typed <- key[0]:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { term.Restore(int(in.Fd()), before) }, typed //nolint:errcheck // fails only if the terminal is gone
}

func (t *top) draw(screen *os.File) error {
	width, height, err := term.GetSize(int(screen.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	t.view.stacks = t.fleet.count()
	text := screenHome
	for i, line := range t.view.lines(screenSize{width, height}) {
		if i > 0 {
			text += "\r\n" // a terminal in raw mode adds no carriage returns
		}
		text += line.cut(width).text(t.Colors(screen)) + lineRest
	}
	_, err = fmt.Fprint(screen, text+screenRest)
	return err
}
