// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/web/find"
	"github.com/yuba-dev/yuba/internal/web/query"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

var then = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// stacks makes stacks of NAMESPACE/NAME STATE TEAM.
func stacks(lines ...string) []find.Stack {
	var all []find.Stack
	for i, line := range lines {
		var key, state, team string
		fmt.Sscan(line, &key, &state, &team) //nolint:errcheck // a missing team is empty
		namespace, name, _ := strings.Cut(key, "/")
		t := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(then.Add(time.Duration(i) * time.Minute))}}
		if team != "" {
			t.Labels = map[string]string{"example.com/team": team}
		}
		s := find.Describe(t, false)
		s.State, s.Facts.State = standing.State(state), state
		all = append(all, s)
	}
	return all
}

func keys(all []find.Stack) string {
	var names []string
	for i := range all {
		names = append(names, all[i].Key())
	}
	return strings.Join(names, " ")
}

func TestAddressesSayWhatIsShown(t *testing.T) {
	for address, want := range map[string]string{
		"":                                  "",
		"q=a&page=2":                        "page=2&q=a",
		"page=0":                            "",
		"page=x&sort=nonsense&group=x":      "",
		"sort=-since&group=label:env":       "group=label%3Aenv&sort=-since",
		"cols=stack,what&cols=nonsense":     "cols=stack%2Cwhat",
		"cols=stack&cols=stack&cols=label:": "cols=stack",
		"cols=" + strings.Join(defaultColumns, "&cols="): "",
		"evil=1&q=%3Cscript%3E":                          "q=%3Cscript%3E",
	} {
		values, err := url.ParseQuery(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := paramsOf(values).encode(); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
	long := paramsOf(url.Values{"q": {strings.Repeat("a", 10_000)}})
	if _, err := query.Parse(long.query); err == nil || len(long.query) > query.MaxLength+1 {
		t.Error("a long query is cut without saying so")
	}
}

func TestProblems(t *testing.T) {
	_, wrong := query.Parse("a status:x b")
	other := errors.New("away")
	for sentence, c := range map[string]struct {
		err  error
		want *problem
		back error
	}{
		"none":                    {nil, nil, nil},
		"a mistake":               {wrong, &problem{"a status:", "x", " b", `status: "x" is not one of ` + strings.Join(query.States, ", ")}, nil},
		"a question too far":      {&site.Refusal{Code: 403, Says: "You may not.", Hint: "Leave it out."}, &problem{Before: "a status:x b", Says: "You may not. Leave it out."}, nil},
		"the server is not there": {other, nil, other},
	} {
		got, err := problemOf("a status:x b", c.err)
		if fmt.Sprint(got) != fmt.Sprint(c.want) || !errors.Is(err, c.back) {
			t.Errorf("%s: %+v %v", sentence, got, err)
		}
	}
}

func TestSort(t *testing.T) {
	for by, want := range map[string]string{
		"":            "a/x b/y a/z",
		"state":       "a/x b/y a/z",
		"-state":      "a/z a/x b/y",
		"stack":       "a/x a/z b/y",
		"-stack":      "b/y a/z a/x",
		"created":     "a/z b/y a/x", // the newest first
		"-created":    "a/x b/y a/z",
		"label:team":  "a/z b/y a/x",
		"-label:team": "a/x b/y a/z",
		"nonsense":    "a/x b/y a/z",
	} {
		all := stacks("a/x failed two", "b/y failed one", "a/z ready")
		if sortBy(all, by); keys(all) != want {
			t.Errorf("by %s: got %s, want %s", by, keys(all), want)
		}
	}
}

func TestGroups(t *testing.T) {
	all := stacks("a/1 ready net", "a/2 failed db", "b/3 ready net", "b/4 ready")
	for by, want := range map[string]string{
		"":           ": a/1 a/2 b/3 b/4",
		"ns":         "a[ns:a]: a/1 a/2|b[ns:b]: b/3 b/4",
		"label:team": "db[label:team=db]: a/2|net[label:team=net]: a/1 b/3|none: b/4",
		"status":     "failed[status:failed]: a/2|ready[status:ready]: a/1 b/3 b/4",
		"tenant":     "none: a/1 a/2 b/3 b/4",
	} {
		var got []string
		for _, g := range groupBy(slices.Clone(all), by) {
			text := g.title
			if g.term[0] != "" {
				text += "[" + query.Term(g.term[0], g.term[1]) + "]"
			}
			got = append(got, text+": "+keys(g.stacks))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("by %s: got %s, want %s", by, strings.Join(got, "|"), want)
		}
	}
}

func TestPagesGoThroughGroups(t *testing.T) {
	groups := groupBy(stacks("a/1 ready", "a/2 ready", "a/3 ready", "b/4 ready", "b/5 ready"), "ns")
	for skip, want := range map[int]string{0: "a: a/1 a/2", 2: "a...: a/3|b: b/4", 4: "b...: b/5", 5: "", 9: ""} {
		var got []string
		for _, g := range cutPage(groups, skip, 2) {
			text := g.title
			if g.begun {
				text += "..."
			}
			got = append(got, text+": "+keys(g.part))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("after %d: got %s, want %s", skip, strings.Join(got, "|"), want)
		}
	}
}

func TestCellsAreNotFormulas(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "": "", "a=b": "a=b", "team-a/vpc": "team-a/vpc",
		"=1+1": "'=1+1", "+1 ~0 -0": "'+1 ~0 -0", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", " =1": "' =1", "\r\nx": "'\r\nx", "|calc": "'|calc",
		"＝1": "'＝1", "\u00a0=1": "'\u00a0=1", "\ufeff=1": "'\ufeff=1", "\x00=1": "'=1",
	} {
		if got := harmless(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestRecentRuns(t *testing.T) {
	x := newRecent()
	s := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}
	x.see(s)
	if x.of("a/b") != nil {
		t.Error("a stack without runs has some")
	}
	for i := range keptRuns + 3 {
		started, ended := metav1.NewTime(then), metav1.NewTime(then.Add(time.Duration(i)*time.Second))
		s.Status.LastRun = &infrav1.RunReference{ID: fmt.Sprint(i), Operation: "plan", Status: []string{"succeeded", "failed", "canceled"}[i%3], StartedAt: &started, FinishedAt: &ended}
		x.see(s)
		x.see(s) // the status is written often
	}
	runs := x.of("a/b")
	if len(runs) != keptRuns || runs[0].id != "3" || runs[keptRuns-1].id != "14" || runs[0].took != 3*time.Second {
		t.Errorf("%+v", runs)
	}
	picture := sparkOf(runs)
	if picture.Says != "Last 12 runs: 4 succeeded, 4 failed, 4 canceled" || len(picture.Bars) != keptRuns {
		t.Errorf("%+v", picture)
	}
	for _, b := range picture.Bars {
		if b.Y < 0 || b.Y+b.Height > picture.Height || b.X+b.Width > picture.Width || (b.Class == "bad") != (b.Y == 0) {
			t.Errorf("%+v", b)
		}
	}
	x.forget(s)
	if x.of("a/b") != nil || sparkOf(nil) != nil {
		t.Error("a deleted stack has runs")
	}
}
