// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/platform/blueprint"
)

// defaultFile is where a blueprint is written.
const defaultFile = "platform.yaml"

// ask asks for a blueprint, writes it into a file, and returns its name. Answers that the schema does not allow are
// asked for again, at once.
func (g *group) ask() (file string, err error) {
	i := &interview{Console: g.Console, answers: map[string]string{}}
	i.News("%s\n\nAnswer the questions; Enter takes the value in brackets. \"<\" goes back, \"?\" explains, Ctrl-C ends and writes nothing.", i.Paint(i.Err, ui.ColorBold, "A new platform"))
	if err := i.run(questions); err != nil {
		return "", err
	}
	text := []byte(manifestOf(i.answers))
	if _, problems, err := blueprint.Read(text); err != nil {
		return "", fmt.Errorf("check the answers: %w", err)
	} else if len(problems) > 0 {
		return "", ui.Exitf(ui.ExitUsage, "the answers do not fit together; nothing was written:\n%s", listOf(problems))
	}
	file = i.answers["file"]
	if err := writeNew(file, text); err != nil {
		return "", err
	}
	i.News("\nWrote the blueprint to %s. It has no credentials; keep it in git. To make the platform without questions:\n    yuba bootstrap --from %s", file, file)
	return file, nil
}

// writeNew writes a file that does not exist yet.
func writeNew(name string, text []byte) (err error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // the blueprint has no secrets, and people share it
	if errors.Is(err, os.ErrExist) {
		return ui.Exitf(ui.ExitRefused, "%s exists; nothing was overwritten. Use it, or choose another name:\n    yuba bootstrap --from %s", name, name)
	}
	if err != nil {
		return fmt.Errorf("write the blueprint: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Write(text); err != nil {
		return fmt.Errorf("write the blueprint: %w", err)
	}
	return nil
}

// question is a step of the interview.
type question struct {
	name, text, help string
	// byDefault is the proposed answer; fill gives one that depends on others.
	byDefault string
	fill      func(answers map[string]string) string
	// optional accepts an empty answer.
	optional bool
	// check says what is wrong with an answer; empty for nothing.
	check func(answer string, answers map[string]string) string
	// skip leaves the question out.
	skip func(answers map[string]string) bool
}

// interview asks questions on a terminal.
type interview struct {
	*ui.Console
	answers map[string]string
}

// next reads a line. It reads no byte more: the next question to the person may be another command's.
func (i *interview) next() (string, error) {
	type typed struct {
		text string
		err  error
	}
	line := make(chan typed, 1)
	go func() {
		var text []byte
		var one [1]byte
		for len(text) < maxAnswer {
			n, err := i.In.Read(one[:])
			if n > 0 && one[0] == '\n' {
				break
			}
			if n > 0 {
				text = append(text, one[0])
			}
			if err != nil {
				line <- typed{strings.TrimSpace(string(text)), err}
				return
			}
		}
		line <- typed{text: strings.TrimSpace(string(text))}
	}()
	select {
	case l := <-line:
		if errors.Is(l.err, io.EOF) && l.text == "" {
			return "", ui.Exitf(ui.ExitInterrupted, "the answers ended; nothing was written")
		}
		if l.err != nil && !errors.Is(l.err, io.EOF) {
			return "", fmt.Errorf("read the answer: %w", l.err)
		}
		return l.text, nil
	case <-i.Interrupted:
		return "", context.Canceled
	}
}

// maxAnswer limits an answer, in bytes.
const maxAnswer = 4096

// run asks all questions, forth and back.
func (i *interview) run(list []question) error {
	var asked []int
	for at := 0; at < len(list); {
		q := &list[at]
		if q.skip != nil && q.skip(i.answers) {
			delete(i.answers, q.name)
			at++
			continue
		}
		back, err := i.one(q, len(asked)+1)
		if err != nil {
			return err
		}
		if !back {
			asked, at = append(asked, at), at+1
		} else if len(asked) > 0 {
			at, asked = asked[len(asked)-1], asked[:len(asked)-1]
		}
	}
	return nil
}

// one asks one question until its answer is good; back is true if the person wants the question before it.
func (i *interview) one(q *question, number int) (back bool, err error) {
	proposal := q.byDefault
	if q.fill != nil {
		proposal = q.fill(i.answers)
	}
	if before, ok := i.answers[q.name]; ok {
		proposal = before
	}
	for {
		fmt.Fprintf(i.Err, "\n%d. %s", number, i.Paint(i.Err, ui.ColorBold, q.text)) //nolint:errcheck // nobody sees it
		if proposal != "" {
			fmt.Fprintf(i.Err, " [%s]", proposal) //nolint:errcheck // nobody sees it
		}
		fmt.Fprint(i.Err, ": ") //nolint:errcheck // nobody sees it
		answer, err := i.next()
		switch {
		case err != nil:
			return false, err
		case answer == "<":
			return true, nil
		case answer == "?":
			i.News("   %s", strings.ReplaceAll(q.help, "\n", "\n   "))
			continue
		case answer == "-" && q.optional:
			answer = ""
		case answer == "":
			answer = proposal
		}
		if answer == "" && !q.optional {
			i.News("   An answer is required.")
			continue
		}
		if answer != "" && q.check != nil {
			if wrong := q.check(answer, i.answers); wrong != "" {
				i.News("   %s", i.Paint(i.Err, ui.ColorRed, wrong))
				continue
			}
		}
		i.answers[q.name] = answer
		return false, nil
	}
}
