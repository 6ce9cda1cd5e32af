// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// Verb is what a command asks for.
type Verb string

// The verbs.
const (
	Plan    Verb = "plan"
	Replan  Verb = "replan"
	Approve Verb = "approve"
	Apply   Verb = "apply"
	Unlock  Verb = "unlock"
	Impact  Verb = "impact"
	Help    Verb = "help"
)

// verb has what is known of one.
type verb struct {
	right forge.Right
	// flags are those that the verb accepts. A "=" says that a value follows.
	flags []string
	// stacks says that names of stacks may follow.
	stacks bool
	help   string
}

// verbs are in the order of help. Reading is enough for help only: plans run code of the pull request with credentials.
var verbs = map[Verb]verb{
	Plan:    {forge.Write, []string{"--commit="}, true, "plan stacks that have no plan of this commit; all that the pull request changes, unless some are named. For a fork, name the commit that you have looked at"},
	Replan:  {forge.Write, []string{"--commit="}, true, "plan again, even if there is a plan"},
	Approve: {forge.Write, []string{"--commit=", "--plans="}, false, "approve the plans shown, of this commit. Yuba's comment has the command with their digest"},
	Apply:   {forge.Write, []string{"--commit="}, true, "apply the reviewed plans of this commit before the merge, where the planner allows it. The stacks are locked for the pull request"},
	Unlock:  {forge.Write, nil, true, "release the stacks of the pull request. They return to their branch by plans that wait for approval"},
	Impact:  {forge.Write, nil, false, "plan the stacks behind the changed ones, with the planned values in place of the published ones"},
	Help:    {forge.Read, nil, false, "show this list"},
}

// Verbs returns all verbs, in the order of help.
func Verbs() []Verb { return []Verb{Plan, Replan, Approve, Apply, Unlock, Impact, Help} }

// Right is what somebody needs in the repository to use a verb.
func (v Verb) Right() forge.Right {
	if known, ok := verbs[v]; ok {
		return known.right
	}
	return forge.Admin
}

// Command is one command.
type Command struct {
	Verb Verb
	// Stacks are names, with or without a namespace; empty means all.
	Stacks []string
	// Commit is the head that the author means, empty if it is not named. Short ones do not identify it: everybody can make
	// a commit with seven wanted digits.
	Commit string
	// Plans is the digest of the plans that the author means, empty if it is not named.
	Plans string
}

// Problem is a line that looks like a command and is not one.
type Problem struct {
	// Word is the wrong part, shortened to printable ASCII.
	Word, Reason string
}

const (
	// maxText limits how much of a comment is read, maxCommands what one comment can ask for.
	maxText     = 64 << 10
	maxCommands = 10
	maxStacks   = 50
)

var (
	name   = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?/)?[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	sha    = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
	opened = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})")
)

// Parse reads the commands of a comment.
func Parse(text string) ([]Command, []Problem) {
	var (
		commands []Command
		problems []Problem
	)
	for _, line := range lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 1 && words[0] == "!replan":
			commands = append(commands, Command{Verb: Replan})
		case len(words) > 0 && strings.EqualFold(words[0], "/yuba"):
			c, problem := parse(words[1:])
			if problem != nil {
				problems = append(problems, *problem)
			} else {
				commands = append(commands, c)
			}
		}
		if len(commands)+len(problems) >= maxCommands {
			break
		}
	}
	return commands, problems
}

// lines are those of a comment that are neither code, nor quoted, nor in an HTML comment.
func lines(text string) []string {
	if len(text) > maxText {
		text = text[:maxText]
		text = text[:strings.LastIndexByte(text, '\n')+1] // half a line could name half a stack
	}
	var (
		out    []string
		fence  string
		hidden bool
	)
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case hidden:
			hidden = !strings.Contains(line, "-->")
			continue
		case fence != "":
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]+" \t") == "" {
				fence = ""
			}
			continue
		}
		if match := opened.FindStringSubmatch(line); match != nil {
			fence = match[1]
			continue
		}
		if before, after, ok := strings.Cut(line, "<!--"); ok {
			hidden = !strings.Contains(after, "-->")
			line = before
		}
		if len(line)-len(trimmed) > 3 || strings.HasPrefix(line, "\t") || strings.HasPrefix(trimmed, ">") {
			continue
		}
		out = append(out, line)
	}
	return out
}

// parse reads the words after /yuba.
func parse(words []string) (Command, *Problem) {
	if len(words) == 0 {
		return Command{Verb: Help}, nil
	}
	c := Command{Verb: Verb(strings.ToLower(words[0]))}
	known, ok := verbs[c.Verb]
	if !ok {
		return c, &Problem{printable(words[0]), "it is not a command"}
	}
	for i := 1; i < len(words); i++ {
		word := words[i]
		if strings.HasPrefix(word, "-") {
			flag, value, inline := strings.Cut(word, "=")
			if flag == "--commit" && slices.Contains(known.flags, "--commit=") {
				if !inline && i+1 < len(words) {
					i++
					value = words[i]
				}
				if !sha.MatchString(value) {
					return c, &Problem{printable(value), "a commit has 7 to 64 hexadecimal digits"}
				}
				c.Commit = value
				continue
			}
			if flag == "--plans" && slices.Contains(known.flags, "--plans=") {
				if !inline && i+1 < len(words) {
					i++
					value = words[i]
				}
				if !sha.MatchString(value) {
					return c, &Problem{printable(value), "the digest of plans has hexadecimal digits, and is in the comment with the plans"}
				}
				c.Plans = value
				continue
			}
			return c, &Problem{printable(word), string(c.Verb) + " does not have such a flag"}
		}
		switch {
		case !known.stacks:
			return c, &Problem{printable(word), string(c.Verb) + " accepts no names"}
		case !name.MatchString(word):
			return c, &Problem{printable(word), "it is not the name of a stack: NAME or NAMESPACE/NAME"}
		case slices.Contains(c.Stacks, word):
			continue
		case len(c.Stacks) >= maxStacks:
			return c, &Problem{printable(word), "a command names at most " + strconv.Itoa(maxStacks) + " stacks"}
		}
		c.Stacks = append(c.Stacks, word)
	}
	return c, nil
}

// printable makes a word safe to repeat inside code.
func printable(word string) string {
	word = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' || strings.ContainsRune("`@<>|&", r) {
			return '?'
		}
		return r
	}, word)
	return word[:min(len(word), 60)]
}

// HelpText is the answer to help, in Markdown.
func HelpText() string {
	var out strings.Builder
	out.WriteString("| command | needs | what it does |\n|---|---|---|\n")
	for _, v := range Verbs() {
		known := verbs[v]
		usage := "/yuba " + string(v)
		for _, flag := range known.flags {
			commit := flag == "--commit="
			flag = strings.Replace(flag, "=", map[bool]string{true: " COMMIT", false: " DIGEST"}[commit], 1)
			if !commit || v != Approve && v != Apply { // those without a commit are refused
				flag = "[" + flag + "]"
			}
			usage += " " + flag
		}
		if known.stacks {
			usage += " [STACK …]"
		}
		out.WriteString("| `" + usage + "` | " + known.right.String() + " | " + known.help + " |\n")
	}
	return out.String()
}
