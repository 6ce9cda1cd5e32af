// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func hide(secret, text string) string {
	s := New()
	s.Add(secret)
	return string(s.Masker(Mark).Line([]byte(text)))
}

// Short and common secrets: what is hidden, and what is not because nobody could read it any more.
func TestCommonWordsAreHiddenWhereTheyAreValues(t *testing.T) {
	for secret, lines := range map[string][][2]string{
		"data": {
			{`resource "terraform_data" "a" {`, `resource "terraform_data" "a" {`},
			{`data "http" "data" {`, `data "http" "data" {`},
			{`terraform_data.data: Creating...`, `terraform_data.data: Creating...`},
			{`{"@message":"x","hook":{"resource":{"addr":"terraform_data.data","resource_name":"data"},"id_key":"id","id_value":"data"}}`,
				`{"@message":"x","hook":{"id_key":"id","id_value":"(sensitive)","resource":{"addr":"terraform_data.data","resource_name":"data"}}}`},
		},
		"postgres": {
			{"error connecting to PostgreSQL server db (scheme: postgres): refused", "error connecting to PostgreSQL server db (scheme: (sensitive)): refused"},
			{`dial postgres://app@db:5432/shop`, `dial postgres://app@db:5432/shop`},
			{`role "postgres" does not exist`, `role "postgres" does not exist`},
			{`password "postgres" is too weak`, `password "(sensitive)" is too weak`},
			{`postgresql_role.admin: Creation complete after 0s [id=postgres]`, `postgresql_role.admin: Creation complete after 0s [id=(sensitive)]`},
			{`Authorization: Basic YXBwOnBvc3RncmVz`, `Authorization: Basic YXBwO(sensitive)`},
			{`+ user = "postgres"`, `+ user = "(sensitive)"`},
		},
		"app": {
			{"    + roles = [\n        + \"app\",\n        + \"apple\",\n      ]", "    + roles = [\n        + \"(sensitive)\",\n        + \"apple\",\n      ]"},
			{`~ user = "db" -> "app"`, `~ user = "db" -> "(sensitive)"`},
			{"app-1.app.example.com /srv/app app_db myapp", "app-1.app.example.com /srv/app app_db myapp"},
			{`{"user":"app","list":["app","b"]}`, `{"list":["(sensitive)","b"],"user":"(sensitive)"}`},
			{"amqp://user:app@mq", "amqp://user:(sensitive)@mq"},
			{"user: app", "user: (sensitive)"},
			{"Error: app is not known", "Error: app is not known"},
			{"app", "(sensitive)"},
		},
		"true":                {{"enabled = true", "enabled = true"}},
		"5432":                {{"port = 5432", "port = 5432"}},
		"eu-central-1":        {{"no bucket in eu-central-1 yet; region=eu-central-1", "no bucket in eu-central-1 yet; region=(sensitive)"}},
		"app-db":              {{"app-db is gone; name = app-db", "app-db is gone; name = (sensitive)"}},
		"---":                 {{"--- a\n+++ b", "--- a\n+++ b"}},
		"kim":                 {{"kim kimono _kim", "(sensitive) kimono _kim"}},
		"1234567":             {{`{"n":1234567,"s":"is 1234567","o":12345678}`, `{"n":"(sensitive)","o":12345678,"s":"is (sensitive)"}`}},
		"-----BEGIN KEY-----": {{"-----BEGIN KEY-----", "-----BEGIN KEY-----"}},
	} {
		for _, line := range lines {
			if diff := cmp.Diff(line[1], hide(secret, line[0])); diff != "" {
				t.Errorf("the secret %q:\n%s", secret, diff)
			}
		}
	}
}

func TestWhatEverybodyMayKnowIsHiddenWhereItIsAValue(t *testing.T) {
	s := New("team-zebra", "blueprint")
	s.Add("blueprint")
	if got, want := s.Masker(Mark).Text("stack team-zebra/blueprint: x=blueprint"), "stack team-zebra/blueprint: x=(sensitive)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// encodings are the table of what is undone, each as a function of any text.
var encodings = map[string]func(string) string{
	"as it is":   func(s string) string { return s },
	"upper case": strings.ToUpper,
	"lower case": strings.ToLower,
	"JSON": func(s string) string {
		text, _ := json.Marshal(s)
		return string(text)
	},
	"JSON twice": func(s string) string {
		once, _ := json.Marshal(s)
		twice, _ := json.Marshal(map[string]string{"body": string(once)})
		return string(twice)
	},
	"JSON three times": func(s string) string {
		once, _ := json.Marshal(s)
		twice, _ := json.Marshal([]string{string(once)})
		thrice, _ := json.Marshal([]string{string(twice)})
		return string(thrice)
	},
	"JSON with every character escaped": func(s string) string {
		var b strings.Builder
		for _, r := range s {
			if r > 0xffff {
				fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
			} else {
				fmt.Fprintf(&b, `\u%04X`, r)
			}
		}
		return `"` + b.String() + `"`
	},
	"%q":      strconv.Quote,
	"%+q":     strconv.QuoteToASCII,
	"shell":   func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
	"python":  func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" },
	"HCL":     func(s string) string { return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(s)) },
	"a query": url.QueryEscape,
	"a path":  url.PathEscape,
	"userinfo": func(s string) string {
		return (&url.URL{Scheme: "amqp", User: url.UserPassword("u", s), Host: "h"}).String()
	},
	"percent, lower case": func(s string) string {
		var b strings.Builder
		for _, c := range []byte(s) {
			fmt.Fprintf(&b, "%%%02x", c)
		}
		return b.String()
	},
	"HTML": func(s string) string { return "<b>" + html.EscapeString(s) + "</b>" },
	"XML": func(s string) string {
		return strings.NewReplacer("&", "&#38;", "<", "&#x3C;", `"`, "&#34;").Replace(s)
	},
	"Basic auth, user of 1": func(s string) string { return basic("a", s) },
	"Basic auth, user of 2": func(s string) string { return basic("ab", s) },
	"Basic auth, user of 3": func(s string) string { return basic("abc", s) },
	"base64":                func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 without padding": func(s string) string {
		return base64.RawStdEncoding.EncodeToString([]byte("x" + s))
	},
	"base64 for URLs": func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s + "x")) },
	"base64 twice": func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(s))))
	},
	"the configuration of docker": func(s string) string {
		text, _ := json.Marshal(map[string]any{"auths": map[string]any{"r.example": map[string]string{"auth": basic("abc", s)[6:], "password": s}}})
		return base64.StdEncoding.EncodeToString(text)
	},
	"hex":                  func(s string) string { return hex.EncodeToString([]byte(s)) },
	"hex in upper case":    func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"hex, shown by C":      func(s string) string { return `\x` + strings.ReplaceAll(fmt.Sprintf("% x", s), " ", `\x`) },
	"percent-encoded JSON": func(s string) string { text, _ := json.Marshal(s); return url.QueryEscape(string(text)) },
	"JSON of percent-encoded": func(s string) string {
		text, _ := json.Marshal(map[string]string{"u": "https://h/?p=" + url.QueryEscape(s)})
		return string(text)
	},
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// TestTableOfEncodings: nothing of the secret's encoded form is left; the prefix that is looked for
// is long enough to be no accident.
func TestTableOfEncodings(t *testing.T) {
	for _, secret := range []string{
		`S3cr3t/p@ss w"rd`, `hunter2`, `tr0ub4dor&3`, `p<a>s&s'w"o\rd`, `${not.a.ref}%{x}+ 1`, `пароль-ключ`, `a%41b\u0041c+d`, `päss😀wörter`,
		`qwmznbvk`, "line one of it\nline two of it", `0123456789abcdef0123456789abcdef`, `==//++==aB3`,
	} {
		s := New()
		s.Add(secret)
		m := s.Masker(Mark)
		for name, encode := range encodings {
			encoded := encode(secret)
			for _, line := range []string{encoded, "before " + encoded + " behind", logLine("said " + encoded + ".")} {
				masked := string(m.Line([]byte(line)))
				if left := remains(masked, secret, encode); left != "" {
					t.Errorf("%q, %s: %q is in\n%s\nof\n%s", secret, name, left, masked, line)
				}
				if json.Valid([]byte(line)) && !json.Valid([]byte(masked)) {
					t.Errorf("%q, %s: %s is not JSON any more", secret, name, masked)
				}
			}
		}
	}
}

// A secret of several lines' length in base64, as base64(1), openssl and PEM wrap it.
func TestBase64InLines(t *testing.T) {
	secret := strings.Repeat("0nly one w0rd of a l0ng secret; ", 8) + "its end"
	s := New()
	s.Add(secret)
	m := s.Masker(Mark)
	whole := base64.StdEncoding.EncodeToString([]byte(secret))
	for _, width := range []int{76, 64} {
		for name, end := range map[string]string{"lines": "\n", "lines of Windows": "\r\n", "indented lines": "\n    "} {
			var wrapped strings.Builder
			for rest := whole; rest != ""; rest = rest[min(width, len(rest)):] {
				wrapped.WriteString(rest[:min(width, len(rest))] + end)
			}
			text := "before\n" + wrapped.String() + "behind"
			masked := m.Text(text)
			if lines := strings.Count(masked, Mark); lines != (len(whole)+width-1)/width || !strings.HasPrefix(masked, "before\n") || !strings.HasSuffix(masked, "behind") {
				t.Errorf("%s of %d: %d are hidden in\n%s", name, width, lines, masked)
			}
			if left := remains(masked, secret, func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }); left != "" {
				t.Errorf("%s of %d: %q is in\n%s", name, width, left, masked)
			}
			logged := logLine(text)
			if left := remains(string(m.Line([]byte(logged))), secret, func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }); left != "" {
				t.Errorf("%s of %d in a log: %q is left", name, width, left)
			}
			for line := range strings.Lines(wrapped.String()) {
				if line = strings.TrimSpace(line); line != "" && strings.Contains(string(m.Line([]byte(line))), line) {
					t.Errorf("%s of %d: the line %s alone is shown", name, width, line)
				}
			}
		}
	}
}

func logLine(message string) string {
	line, _ := json.Marshal(map[string]string{"@level": "info", "@message": message, "type": "apply_progress"})
	return string(line)
}

// remains is a part of an encoded secret that is in a masked text; empty when there is none. Parts
// that another secret of the same length has in the same encoding do not count.
func remains(masked, secret string, encode func(string) string) string {
	const least = 5
	masked = strings.ReplaceAll(masked, Mark, "…")
	var line struct {
		Message string `json:"@message"`
	}
	if json.Unmarshal([]byte(masked), &line) == nil && line.Message != "" {
		masked = line.Message
	}
	encoded, other := encode(secret), ""
	for more := range 8 { // what comes behind is encoded in another way, depending on the length
		other += " " + encode(strings.Repeat("Z", len(secret)+more))
	}
	for i := 0; i+least <= len(encoded); i++ {
		if part := encoded[i : i+least]; !strings.Contains(other, part) && strings.Contains(masked, part) {
			return part
		}
	}
	return ""
}

// Other goroutines use the mask meanwhile.
func TestAMaskHidesWhatIsAddedWhileItIsUsed(t *testing.T) {
	secrets := New()
	secrets.Add("first-secret-of-them")
	m := secrets.Masker(Mark)
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for range 200 {
				if shown := m.Text("a first-secret-of-them"); shown != "a (sensitive)" {
					t.Error(shown)
				}
			}
		})
	}
	for n := range 50 {
		added := fmt.Sprintf("another-secret-%d-of-them", n)
		m.Add(added)
		if shown := string(m.Line([]byte(`{"@message":"` + added + `"}`))); shown != `{"@message":"(sensitive)"}` {
			t.Error(shown)
		}
	}
	users.Wait()
	if other := secrets.Masker(Mark); other.Hides("another-secret-1-of-them") {
		t.Error("what was added to a mask is in others, too")
	}
}
