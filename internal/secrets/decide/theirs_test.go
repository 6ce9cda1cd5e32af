// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"maps"
	"math/rand"
	"slices"
	"testing"
)

// Names of a rotation that are free in a phase may get values of others.
func TestTheirs(t *testing.T) {
	made := func(value Value, parts ...string) []Made {
		m := Made{Name: "db", Entry: Entry{Parts: parts}, Values: map[string]Value{}}
		for _, part := range parts {
			m.Values[part] = value
		}
		return []Made{m}
	}
	begin := func() Document { return Document{}.Add(made("old", "db")) }
	introduced := Introduce(begin(), "id", made("new", "db"), []string{"a/x"}, now)
	retired := Retire(Ran(introduced), []string{"a/x"}, now)
	fail := func(d Document) Document { return Fail(d, "no", now) }
	retire := func(d Document) Document { return Retire(d, nil, now) }
	lost := begin()
	delete(lost.Values, "db")
	lost = Introduce(lost, "id", made("new", "db"), []string{"a/x"}, now)
	paired := Introduce(begin(), "id", made("new", "db", "db_public"), []string{"a/x"}, now)
	for sentence, test := range map[string]struct {
		before Document
		added  string
		next   func(Document) Document
		want   []string
	}{
		"the old value is retired":                         {introduced, "", retire, nil},
		"the old value is retired to a taken name":         {introduced, "db_retired", retire, []string{"db_retired"}},
		"back to the old value":                            {introduced, "", fail, nil},
		"back, and a name that only the second step needs": {introduced, "db_retired", fail, nil},
		"back, and the name of a new part is taken":        {paired, "db_public_previous", fail, []string{"db_public_previous"}},
		"the end": {Ran(retired), "", Finish, nil},
		"the end, and a value under the name of the former one": {Ran(retired), "db_previous", Finish, nil},
		"both are valid again":                        {retired, "", fail, nil},
		"both are valid again, and the name is taken": {retired, "db_previous", fail, []string{"db_previous"}},
		"a lost value has no former one":              {lost, "db_previous", retire, nil},
		"back to a lost value":                        {lost, "db_previous", fail, []string{"db_previous"}},
	} {
		d := test.before.Clone()
		if test.added != "" {
			d.Values[test.added] = "theirs"
		}
		next := test.next(d)
		if got := Theirs(d, next); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", sentence, got, test.want)
		}
		if test.added != "" && test.want == nil && next.Values[test.added] != "theirs" {
			t.Errorf("%s: afterwards %s is %q", sentence, test.added, next.Values[test.added].Reveal())
		}
	}
}

// Whatever others add and whenever: a rotation never changes it, and waits at most until it is moved.
func TestRotationsLeaveTheValuesOfOthers(t *testing.T) {
	waits := 0
	for seed := range int64(2000) {
		r := rand.New(rand.NewSource(seed))
		d := Document{}.Add([]Made{{"db", Entry{Parts: []string{"db"}}, map[string]Value{"db": "old"}}})
		if r.Intn(4) == 0 {
			delete(d.Values, "db")
		}
		deps := []string{"a/one", "a/two"}
		d = Introduce(d, "id", []Made{{"db", Entry{Parts: []string{"db"}}, map[string]Value{"db": "new"}}}, deps, now)
		theirs := map[string]Value{}
		for steps := 0; d.Book.Rotation != nil; steps++ {
			if steps > 1000 {
				t.Fatalf("seed %d: it does not end", seed)
			}
			name := "db" + []string{Previous, Retired}[r.Intn(2)]
			if _, there := d.Values[name]; !there && r.Intn(2) == 0 {
				d.Values[name], theirs[name] = "theirs", "theirs"
			}
			var next Document
			switch step := Next(d.Book, 0, now); {
			case step.Do == StepRun && r.Intn(3) == 0:
				next = Fail(d, "no", now)
			case step.Do == StepRun:
				next = Ran(d)
			case step.Do == StepRetire:
				next = Retire(d, deps, now)
			default:
				next = Finish(d)
			}
			for _, name := range Theirs(d, next) {
				if theirs[name] == "" {
					t.Fatalf("seed %d: %s is a value of the rotation", seed, name)
				}
				waits++
				delete(d.Values, name)
				delete(theirs, name)
				next = d
			}
			d = next
			for name := range theirs {
				if d.Values[name] != "theirs" {
					t.Fatalf("seed %d: %s has changed: %v, %+v", seed, name, values(d), d.Book.Rotation)
				}
			}
		}
		want := maps.Clone(theirs)
		for _, name := range []string{"db"} {
			if value, there := d.Values[name]; there {
				want[name] = value
			}
		}
		if !maps.Equal(d.Values, want) {
			t.Fatalf("seed %d: in the end the document has %v, want %v", seed, values(d), want)
		}
	}
	if waits == 0 {
		t.Error("no rotation had to wait")
	}
}
