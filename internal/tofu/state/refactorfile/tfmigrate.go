// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package refactorfile

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/state/moves"
)

// migration reads a block of tfmigrate: migration "state" "NAME" or migration "multi_state" "NAME".
func (p *parser) migration(v *values) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s: %w", p.place(v.block.TypeRange), fmt.Errorf(format, args...))
	}
	kind := v.block.Labels[0]
	several := kind == "multi_state"
	if !several && kind != "state" {
		return fail("the migration type %q is unknown: Yuba reads state and multi_state", kind)
	}
	for _, name := range []string{"force", "skip_plan", "from_skip_plan", "to_skip_plan"} {
		if v.one(name) != "" {
			return fail("%s is not supported: Yuba plans every stack, and allows the changes that an expect block names", name)
		}
	}
	for name, allowed := range map[string]bool{"dir": !several, "workspace": !several, "from_dir": several, "to_dir": several, "from_workspace": several, "to_workspace": several} {
		if v.list[name] != nil && !allowed {
			return fail("a migration of type %s has no attribute %q", kind, name)
		}
	}
	from, to := p.directory(v, "dir", "workspace"), ""
	if several {
		if v.one("from_dir") == "" || v.one("to_dir") == "" {
			return fail("a migration of type multi_state needs from_dir and to_dir")
		}
		from, to = p.directory(v, "from_dir", "from_workspace"), p.directory(v, "to_dir", "to_workspace")
	}
	for _, action := range v.list["actions"] {
		if err := p.action(action, from, to, p.place(v.block.TypeRange)); err != nil {
			return fail("the action %q: %w", action, err)
		}
	}
	return nil
}

// directory is the reference that an attribute names, and notes its workspace.
func (p *parser) directory(v *values, dir, workspace string) string {
	reference := dirMark + path.Clean(cmp.Or(v.one(dir), "."))
	if w := v.one(workspace); w != "" {
		p.out.Workspaces[reference] = w
	}
	return reference
}

// action reads one action of tfmigrate. to is empty for one state.
func (p *parser) action(text, from, to, place string) error {
	words, err := split(text)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return errors.New("it is empty")
	}
	verb, args := words[0], words[1:]
	need := func(n int) error {
		if len(args) != n {
			return fmt.Errorf("%s needs %d arguments, not %d", verb, n, len(args))
		}
		return nil
	}
	switch {
	case verb == "xmv":
		return errors.New("wildcards are not supported: write one mv for each address, or move the module")
	case verb == "mv":
		if err := need(2); err != nil {
			return err
		}
		p.step(moves.Step{Verb: moves.Move, State: from, From: args[0], ToState: to, To: args[1], Place: place})
	case to != "":
		return fmt.Errorf("between two states there is only mv, not %s", verb)
	case verb == "rm":
		if len(args) == 0 {
			return errors.New("rm needs addresses")
		}
		for _, a := range args {
			p.step(moves.Step{Verb: moves.Remove, State: from, From: a, Place: place})
		}
	case verb == "import":
		if err := need(2); err != nil {
			return err
		}
		p.imports(from, args[0], args[1], place)
	case verb == "replace-provider":
		if err := need(2); err != nil {
			return err
		}
		p.step(moves.Step{Verb: moves.ReplaceProvider, State: from, From: args[0], To: args[1], Place: place})
	default:
		return fmt.Errorf("%q is not mv, rm, import or replace-provider", verb)
	}
	return nil
}

// split splits an action into words as a shell does, with quotes and backslashes.
func split(text string) (words []string, err error) {
	var word strings.Builder
	open, quote, escaped := false, rune(0), false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			open, escaped = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			open, quote = true, r
		case r == ' ' || r == '\t' || r == '\n':
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote is not closed")
	}
	if open {
		words = append(words, word.String())
	}
	return words, nil
}
