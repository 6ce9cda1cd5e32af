// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestSecrets(t *testing.T) {
	day := 24 * time.Hour
	password := Declared{Name: "db", Generator: "password length=32", Parts: []string{"db"}}
	made := Entry{Generator: "password length=32", Made: now.Add(-10 * day), Parts: []string{"db"}}
	expires := now.Add(2 * day)
	for sentence, test := range map[string]struct {
		facts Facts
		want  Decision
	}{
		"it does not exist: make it": {
			Facts{Declared: []Declared{password}}, Decision{VerbMake, "db", ReasonMissing, "It does not exist yet"}},
		"somebody else's value is there: adopt it": {
			Facts{Declared: []Declared{password}, Present: map[string]bool{"db": true}},
			Decision{VerbAdopt, "db", ReasonFound, "The store has a value that Yuba did not make; it is kept, and its age counts from now on"}},
		"it is there: keep it": {
			Facts{Declared: []Declared{password}, Present: map[string]bool{"db": true}, Book: Book{Secrets: map[string]Entry{"db": made}}},
			Decision{VerbKeep, "db", ReasonPresent, "It exists"}},
		"its generator changed: say so, and keep it": {
			Facts{Declared: []Declared{{Name: "db", Generator: "password length=48", Parts: []string{"db"}}}, Present: map[string]bool{"db": true}, Book: Book{Secrets: map[string]Entry{"db": made}}},
			Decision{VerbRotate, "db", ReasonChanged, "Its generator changed since the value was made: length was 32, is 48. The value is kept; rotate it to apply the change"}},
		"the generator of an adopted one is unknown: keep it": {
			Facts{Declared: []Declared{password}, Present: map[string]bool{"db": true}, Book: Book{Secrets: map[string]Entry{"db": {Adopted: true, Made: now, Parts: []string{"db"}}}}},
			Decision{VerbKeep, "db", ReasonPresent, "It exists"}},
		"somebody removed a value: it is not made anew without being asked": {
			Facts{Declared: []Declared{password}, Book: Book{Secrets: map[string]Entry{"db": made}}},
			Decision{VerbRotate, "db", ReasonIncomplete, "Somebody removed db from the store. Rotate it to make it anew"}},
		"half of a foreign key pair": {
			Facts{Declared: []Declared{{Name: "k", Parts: []string{"k_private", "k_public"}}}, Present: map[string]bool{"k_public": true}},
			Decision{VerbRotate, "k", ReasonPartly, "The store has k_public without k_private. Rotate it to make both"}},
		"it is too old: rotate it": {
			Facts{Declared: []Declared{{Name: "db", Generator: "password length=32", Parts: []string{"db"}, Every: 10 * day}}, Present: map[string]bool{"db": true}, Book: Book{Secrets: map[string]Entry{"db": made}}},
			Decision{VerbRotate, "db", ReasonDue, "It is 10d old, and is to be rotated every 10d"}},
		"a certificate past two thirds of its life": {
			Facts{Declared: []Declared{password}, Present: map[string]bool{"db": true}, Book: Book{Secrets: map[string]Entry{"db": {Generator: "password length=32", Made: now.Add(-10 * day), Expires: &expires, Parts: []string{"db"}}}}},
			Decision{VerbRotate, "db", ReasonExpires, "The certificate expires at 2026-03-03T12:00:00Z. Rotate it"}},
		"its signer is newer": {
			Facts{Declared: []Declared{{Name: "db", Generator: "password length=32", Parts: []string{"db"}, SignedBy: "ca"}}, Present: map[string]bool{"db": true},
				Book: Book{Secrets: map[string]Entry{"db": made, "ca": {Made: now}}}},
			Decision{VerbRotate, "db", ReasonSignerNewer, "Its signer ca was rotated after it was made. Rotate it before the old signer ends"}},
		"nobody declares it: keep it, and say so": {
			Facts{Present: map[string]bool{"db": true}, Book: Book{Secrets: map[string]Entry{"db": made}}},
			Decision{VerbRetire, "db", ReasonUndeclared, "It is not declared any more and is kept; remove it with --prune"}},
	} {
		test.facts.Now = now
		if got := Secrets(test.facts); got[0] != test.want {
			t.Errorf("%s:\n got %+v\nwant %+v", sentence, got[0], test.want)
		}
	}
}

// world is what runs with the secrets: each dependent uses the value that it read last, and the first one
// also says which values are valid.
type world struct {
	t     *testing.T
	uses  map[string]Value
	deps  []string
	valid map[Value]bool
}

func (w *world) run(d Document, dep string) {
	w.uses[dep] = d.Values["db"]
	if dep == w.deps[0] {
		w.valid = map[Value]bool{d.Values["db"]: true}
		if previous, ok := d.Values["db"+Previous]; ok {
			w.valid[previous] = true
		}
	}
	for name, value := range w.uses {
		if !w.valid[value] {
			w.t.Fatalf("after %s has run, %s uses a value that is not valid\n%+v", dep, name, d.Book.Rotation)
		}
	}
}

// Whatever fails, and wherever a process is killed: each dependent always uses a valid value, old values are
// in the document while they may be needed, and rotations end with exactly one value.
func TestLawsOfRotations(t *testing.T) {
	for seed := range int64(3000) {
		r := rand.New(rand.NewSource(seed))
		deps := []string{"a/producer", "a/one", "a/two"}[:1+r.Intn(3)]
		d := Document{}.Add([]Made{{"db", Entry{Parts: []string{"db"}, Made: now}, map[string]Value{"db": "old"}}})
		d.Values["foreign"] = "stays"
		w := &world{t: t, uses: map[string]Value{}, deps: deps, valid: map[Value]bool{}}
		for _, dep := range deps {
			w.run(d, dep)
		}
		d = Introduce(d, "id", []Made{{"db", Entry{Parts: []string{"db"}, Made: now.Add(time.Hour)}, map[string]Value{"db": "new"}}}, deps, now)
		failures := r.Intn(4)
		back := false
		for steps := 0; ; steps++ {
			if steps > 100 {
				t.Fatalf("seed %d: it does not end: %+v", seed, d.Book.Rotation)
			}
			if d.Book.Rotation != nil && len(values(d)) != 2 {
				t.Fatalf("seed %d: the document has %v in phase %s", seed, values(d), d.Book.Rotation.Phase)
			}
			step := Next(d.Book, 0, now)
			if step.Do == StepNone {
				break
			}
			switch step.Do {
			case StepRun:
				// A killed process may have run the dependent without recording it.
				ran := r.Intn(4) > 0
				if ran {
					w.run(d, step.Dependent)
				}
				switch {
				case failures > 0 && r.Intn(2) == 0:
					failures--
					back = back || d.Book.Rotation.Phase == PhaseIntroduce
					d = Fail(d, "no", now)
				case ran && r.Intn(3) > 0:
					d = Ran(d)
				}
			case StepRetire:
				d = Retire(d, deps, now)
			case StepFinish:
				d = Finish(d)
			}
		}
		want := Value("new")
		if back {
			want = "old"
		}
		if got := values(d); !slices.Equal(got, []string{"db=" + string(want)}) || d.Values["foreign"] != "stays" {
			t.Fatalf("seed %d: in the end the document has %v, want %s", seed, got, string(want))
		}
		for _, dep := range deps {
			if w.uses[dep] != want {
				t.Fatalf("seed %d: in the end %s does not use the right value", seed, dep)
			}
		}
	}
}

// A rotation is refused if it would overwrite a value that is not one of its secret.
func TestOverwritten(t *testing.T) {
	one := []Made{{Name: "db", Entry: Entry{Parts: []string{"db"}}}}
	pair := []Made{{Name: "db", Entry: Entry{Parts: []string{"db_private", "db_public"}}}}
	for sentence, test := range map[string]struct {
		known []string
		there []string
		made  []Made
		want  []string
	}{
		"its own value":                             {[]string{"db"}, []string{"db", "foreign"}, one, nil},
		"its own value is lost":                     {[]string{"db"}, nil, one, nil},
		"the name of the old value is taken":        {[]string{"db"}, []string{"db", "db_previous"}, one, []string{"db_previous"}},
		"the name of the retired value is taken":    {[]string{"db"}, []string{"db", "db_retired"}, one, []string{"db_retired"}},
		"the name of a new part is taken":           {[]string{"db"}, []string{"db", "db_public"}, pair, []string{"db_public"}},
		"that of a new part on the way back":        {[]string{"db"}, []string{"db", "db_public_previous"}, pair, []string{"db_public_previous"}},
		"half of a pair that nobody made":           {nil, []string{"db_public"}, pair, nil},
		"half of a pair, and the other's old value": {nil, []string{"db_public", "db_private_previous"}, pair, []string{"db_private_previous"}},
	} {
		d := Document{}.Clone()
		for _, part := range test.there {
			d.Values[part] = "x"
		}
		if test.known != nil {
			d.Book.Secrets["db"] = Entry{Parts: test.known}
		}
		if got := Overwritten(d, test.made)["db"]; !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", sentence, got, test.want)
		}
	}
}

func TestARemovedSecretLeavesTheValuesOfOthers(t *testing.T) {
	d := Document{}.Add([]Made{{"db", Entry{Parts: []string{"db"}}, map[string]Value{"db": "old"}}})
	d.Values["db"+Previous], d.Values["db"+Retired] = "theirs", "theirs"
	if got := values(d.Remove("db")); !slices.Equal(got, []string{"db_previous=theirs", "db_retired=theirs"}) {
		t.Errorf("got %v", got)
	}
}

// values are those of the secret db.
func values(d Document) []string {
	var list []string
	for part, value := range d.Values {
		if strings.HasPrefix(part, "db") {
			list = append(list, part+"="+value.Reveal())
		}
	}
	slices.Sort(list)
	return list
}

func TestOverlapWaits(t *testing.T) {
	d := Document{}.Add([]Made{{"db", Entry{Parts: []string{"db"}}, map[string]Value{"db": "old"}}})
	d = Introduce(d, "id", []Made{{"db", Entry{Parts: []string{"db"}}, map[string]Value{"db": "new"}}}, nil, now)
	if step := Next(d.Book, time.Hour, now.Add(59*time.Minute)); step.Do != StepWait || !step.At.Equal(now.Add(time.Hour)) {
		t.Errorf("got %+v", step)
	}
	if step := Next(d.Book, time.Hour, now.Add(time.Hour)); step.Do != StepRetire {
		t.Errorf("got %+v", step)
	}
}

func TestWhoseDocumentItIs(t *testing.T) {
	known := map[string]Entry{"db": {Parts: []string{"db"}}}
	for sentence, test := range map[string]struct {
		book            Book
		asStore, asCopy string
	}{
		"nobody's":                {Book{}, "", ""},
		"this store":              {Book{ID: "1", Environment: "staging", Secrets: known}, "", "it is no copy, but keeps the secrets of environment staging"},
		"another environment's":   {Book{ID: "2", Environment: "prod", Secrets: known}, "it has the secrets of environment prod", "it is no copy, but keeps the secrets of environment prod"},
		"this store's copy":       {Book{CopyOf: "1", Environment: "staging", Secrets: known}, "it is a copy of the secrets of environment staging", ""},
		"another store's copy":    {Book{CopyOf: "2", Environment: "prod", Secrets: known}, "it is a copy of the secrets of environment prod", "it is a copy of another store, of environment prod"},
		"a store without its ID":  {Book{Secrets: known}, "", "it is no copy, but keeps the secrets of environment (unknown)"},
		"a store without secrets": {Book{ID: "2", Environment: "prod"}, "it has the secrets of environment prod", "it is no copy, but keeps the secrets of environment prod"},
	} {
		if got := test.book.Strange("staging"); got != test.asStore {
			t.Errorf("%s, as a store: %q", sentence, got)
		}
		if got := test.book.StrangeCopy("1"); got != test.asCopy {
			t.Errorf("%s, as a copy: %q", sentence, got)
		}
	}
	if d := (Document{}).Owned("staging", "1").Owned("staging", "2"); d.Book.ID != "1" || d.Book.Environment != "staging" {
		t.Errorf("got %+v", d.Book)
	}
}

func TestDependentsThatAreGoneDoNotRun(t *testing.T) {
	d := Document{}.Add([]Made{{"db", Entry{Parts: []string{"db"}}, map[string]Value{"db": "old"}}})
	d = Introduce(d, "id", []Made{{"db", Entry{Parts: []string{"db"}}, map[string]Value{"db": "new"}}}, []string{"a/x", "a/y"}, now)
	for sentence, test := range map[string]struct {
		rotation *Rotation
		known    []string
		want     []string
	}{
		"no rotation":                       {nil, nil, nil},
		"all are known":                     {d.Book.Rotation, []string{"a/z", "a/y", "a/x"}, nil},
		"one is not":                        {d.Book.Rotation, []string{"a/y"}, []string{"a/x"}},
		"none is known":                     {d.Book.Rotation, nil, []string{"a/x", "a/y"}},
		"it has run already":                {Ran(d).Book.Rotation, []string{"a/y"}, []string{"a/x"}},
		"the book is of an earlier version": {&Rotation{Queue: []string{"a/x"}, Concerned: []string{"a/w", "a/x"}}, nil, []string{"a/x", "a/w"}},
	} {
		if got := Missing(Book{Rotation: test.rotation}, test.known); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v", sentence, got)
		}
	}
	got := Without(d, []string{"a/x"})
	if r := got.Book.Rotation; !slices.Equal(r.Queue, []string{"a/y"}) || !slices.Equal(r.Dependents, r.Queue) || !slices.Equal(r.Concerned, r.Queue) || len(d.Book.Rotation.Queue) != 2 {
		t.Errorf("got %+v", r)
	}
}

func TestMessagesThatEachStoreAccepts(t *testing.T) {
	for message, want := range map[string]string{
		"no":                           "no",
		"no {{ templates }}":           "no { templates }}",
		"{{{{{":                        "{",
		strings.Repeat("a", 500):       strings.Repeat("a", 500),
		strings.Repeat("a", 9000):      strings.Repeat("a", 500) + " …",
		strings.Repeat("ä", 9000) + "": strings.Repeat("ä", 250) + " …",
		"a" + strings.Repeat("ä", 300): "a" + strings.Repeat("ä", 249) + " …",
	} {
		d := Document{}.Add([]Made{{"db", Entry{Parts: []string{"db"}}, map[string]Value{"db": "old"}}})
		d = Introduce(d, "id", []Made{{"db", Entry{Parts: []string{"db"}}, map[string]Value{"db": "new"}}}, []string{"a/x"}, now)
		if got := Fail(d, message, now).Book.Rotation.Failed.Message; got != want {
			t.Errorf("%.20q: got %q", message, got)
		}
	}
}

func TestValuesPrintMasked(t *testing.T) {
	d := Document{Values: map[string]Value{"db": "hunter2"}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if text := fmt.Sprintf(format, d); strings.Contains(text, "hunter2") {
			t.Errorf("%s prints %s", format, text)
		}
	}
}

func TestChangesDoNotTouchTheirDocument(t *testing.T) {
	d := Document{}.Add([]Made{{"db", Entry{Parts: []string{"db"}}, map[string]Value{"db": "old"}}})
	d = Introduce(d, "id", []Made{{"db", Entry{Parts: []string{"db"}}, map[string]Value{"db": "new"}}}, []string{"a/x"}, now)
	was := d.Clone()
	Ran(d)
	Fail(d, "no", now)
	Retire(d, []string{"a/x"}, now)
	Finish(d)
	if !reflect.DeepEqual(d, was) {
		t.Errorf("it is now %+v", d)
	}
}
