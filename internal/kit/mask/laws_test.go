// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// alphabets are what secrets are made of.
var alphabets = [][]rune{
	[]rune("abcdefghijklmnopqrstuvwxyz"), []rune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"),
	[]rune("0123456789abcdef"), []rune(`aB3$%{}"'\/<>&+=-_ ~#@:;,.!?()[]|^*` + "`"), []rune("abcäöüßéñçЖдя日本語😀"),
}

func randomSecret(random *rand.Rand) string {
	alphabet := alphabets[random.Intn(len(alphabets))]
	out := make([]rune, 8+random.Intn(40))
	for i := range out {
		out[i] = alphabet[random.Intn(len(alphabet))]
	}
	return string(out)
}

// chained are the encodings that can be around others without losing anything.
func chained() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(encodings)), func(name string) bool {
		return strings.Contains(name, "case") || strings.Contains(name, "hex") || strings.Contains(name, "base64") || strings.Contains(name, "auth") ||
			strings.Contains(name, "docker") || strings.Contains(name, "times") || strings.Contains(name, "twice") || strings.Contains(name, "of")
	})
}

// TestLawNoSecretInAnyEncoding: a long secret is in no masked line, in whatever form and mix of
// encodings it was in the line.
func TestLawNoSecretInAnyEncoding(t *testing.T) {
	random := rand.New(rand.NewSource(20))
	forms, around := slices.Sorted(maps.Keys(encodings)), chained()
	tried := 0
	for range 8000 {
		secret := randomSecret(random)
		if careFor(strings.TrimSpace(secret), nil) != anywhere || !strings.EqualFold(strings.TrimSpace(secret), secret) {
			continue
		}
		tried++
		names := []string{forms[random.Intn(len(forms))]}
		for range random.Intn(2) {
			names = append(names, around[random.Intn(len(around))])
		}
		encode := func(s string) string {
			for _, name := range names {
				s = encodings[name](s)
			}
			return s
		}
		s := New("default", "stack")
		s.Add(secret)
		for range random.Intn(3) {
			s.Add(randomSecret(random))
		}
		line := logLine("it is " + encode(secret) + " here")
		masked := string(s.Masker(Mark).Line([]byte(line)))
		if !json.Valid([]byte(masked)) {
			t.Fatalf("%q in %q: %s is not JSON", secret, names, masked)
		}
		if !strings.Contains(masked, Mark) {
			t.Fatalf("%q in %q is not found in %s", secret, names, line)
		}
		if left := remains(masked, secret, encode); left != "" {
			t.Fatalf("%q in %q: %q is in\n%s\nof\n%s", secret, names, left, masked, line)
		}
	}
	if tried < 4000 {
		t.Errorf("only %d secrets were tried", tried)
	}
}

// FuzzMasker: whatever secret and line, JSON stays JSON, masking again changes nothing that
// matters, and a secret that is looked for anywhere is gone.
func FuzzMasker(f *testing.F) {
	f.Add("hunter2", `{"@level":"info","@message":"pw hunter2","type":"x"}`)
	f.Add("a\"b\\c<>&", `{"m":"a\"b\\c\u003c\u003e\u0026"}`)
	f.Add("line one\nline two", `{"m":["line two",{"line one":1}]}`)
	f.Add("${x}", `plain $${x} text`)
	f.Add("app", `x = "app" -> "app2" app.example.com`)
	f.Add("postgres://u:p%40ssw0rd@h/db", `p@ssw0rd`)
	f.Fuzz(func(t *testing.T, secret, line string) {
		s := New("default")
		s.Add(secret)
		s.AddFile([]byte(secret))
		m := s.Masker(Mark)
		for _, in := range []string{line, line + secret + line, logLine(line + secret)} {
			masked := string(m.Line([]byte(in)))
			if json.Valid([]byte(in)) && !json.Valid([]byte(masked)) {
				t.Fatalf("%q became %q", in, masked)
			}
			whole := strings.TrimSpace(secret)
			if careFor(whole, nil) == anywhere && utf8.ValidString(whole) && !strings.Contains(Mark, whole) && !json.Valid([]byte(in)) && strings.Contains(strings.ReplaceAll(masked, Mark, "\x00"), whole) {
				t.Fatalf("%q is in %q", whole, masked)
			}
		}
	})
}

// Common words must not be hidden in what tofu and providers say about resources.
func TestLawErrorsStayReadable(t *testing.T) {
	s := New("team-a", "shop", "default")
	for _, word := range []string{"app", "data", "postgres", "admin", "localhost", "shop", "eu-west-1", "role", "user", "5432", "true", "require", "main", "default", "prod", "api"} {
		s.Add(word)
	}
	m := s.Masker(Mark)
	for _, line := range []string{
		`Error: error connecting to PostgreSQL server localhost (scheme postgres): pq: role "admin" does not exist`,
		`  with postgresql_role.app,`, `  on main.tf line 12, in resource "postgresql_role" "app":`, `terraform_data.data["prod"]: Creating...`,
		`  # postgresql_database.shop will be created`, `  + resource "postgresql_database" "shop" {`, `module.api.aws_instance.main: Still creating... [10s elapsed]`,
		`Error: creating S3 bucket: BucketAlreadyExists in eu-west-1`, `dial tcp: lookup db.team-a.svc.cluster.local on 10.0.0.1:53: no such host`,
		`{"@level":"info","@message":"postgresql_role.app: Plan to create","change":{"resource":{"addr":"postgresql_role.app","module":"","resource":"postgresql_role.app","implied_provider":"postgresql","resource_type":"postgresql_role","resource_name":"app","resource_key":null},"action":"create"},"type":"planned_change"}`,
		`Plan: 1 to add, 0 to change, 0 to destroy.`, `Warning: Argument is deprecated: use user instead`,
	} {
		if got := string(m.Line([]byte(line))); got != line {
			t.Errorf("%s\nbecame\n%s", line, got)
		}
	}
}

// The cost is linear, whatever text and secrets repeat.
func TestNothingMakesMaskingSlow(t *testing.T) {
	s := New()
	s.Add("app")
	s.Add(strings.Repeat("ab", 100000) + "c")
	for i := range 200 {
		s.Add(strings.Repeat("a", 64) + fmt.Sprint("secret", i))
	}
	m := s.Masker(Mark)
	for name, text := range map[string]string{
		"the beginnings of a long secret":     strings.Repeat("ab", 2<<20),
		"the beginnings of many secrets":      strings.Repeat("a", 4<<20),
		"common words":                        strings.Repeat("app ", 1<<20),
		"common words as values":              strings.Repeat("x=app ", 700000),
		"white space":                         strings.Repeat("app"+strings.Repeat(" ", 400), 10000),
		"backslashes":                         strings.Repeat(`\`, 4<<20),
		"everything is encoded in all ways":   strings.Repeat(`\u0025&#x34;%31+`, 200000),
		"one blob of base64":                  strings.Repeat("YWJhYmFi", 500000),
		"JSON in JSON in JSON, cut off early": strings.Repeat(`{"a":"{\"b\":\"{\\\"c\\\":\\\"`, 100000),
	} {
		t.Run(name, func(t *testing.T) {
			before := processTime(t)
			m.Line([]byte(text))
			if took := processTime(t) - before; took.Seconds() > 5 {
				t.Errorf("%d bytes took %s", len(text), took)
			} else {
				t.Logf("%d bytes took %s", len(text), took)
			}
		})
	}
}
