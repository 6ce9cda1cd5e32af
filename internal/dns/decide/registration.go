// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The fields that follow the owner in a registration. Owners have no commas but their own.
const (
	uidMark   = ",uid="
	writeMark = ",write="
	placeMark = ",place="
)

// registration is what the TXT record beside a name says.
type registration struct {
	// owner is an [Owner], uid the object's, write its last write, and place the server that was meant. Earlier versions
	// wrote neither uid nor write.
	owner, uid, write, place string
}

func (r registration) text() string {
	text := r.owner
	for _, field := range []struct{ mark, value string }{{uidMark, r.uid}, {writeMark, r.write}, {placeMark, r.place}} {
		if field.value != "" {
			text += field.mark + field.value
		}
	}
	return text
}

func parse(text string) (r registration) {
	text, r.place, _ = strings.Cut(text, placeMark)
	text, r.write, _ = strings.Cut(text, writeMark)
	r.owner, r.uid, _ = strings.Cut(text, uidMark)
	return r
}

// registration is that of the name.
func (f *Facts) registration() (registration, bool) {
	for _, set := range f.There {
		if set.Name == RegistrationOf(f.Host) && set.Type == "TXT" && len(set.Contents) > 0 {
			return parse(unquoted(set.Contents[0])), true
		}
	}
	return registration{}, false
}

// own reports whether the object has the name. Its namespace and name are not enough: a copy in another home, or one of a backup,
// has the same. The last write decides, which only the copy knows that made it, and the one that "yuba move" made of it since.
func (f *Facts) own(r registration) bool {
	if r.write == "" { // an earlier version wrote it
		return f.named(r)
	}
	return slices.Contains(f.Writes, r.write) || f.named(r) && r.write == f.TakeOver
}

// named reports whether a registration names the object, or a copy of it.
func (f *Facts) named(r registration) bool {
	return r.owner == f.Owner || slices.Contains(f.Former, r.owner)
}

// writes are those that Yuba makes up. Others are not repeated in a command.
var writes = regexp.MustCompile(`^[a-z0-9]{1,64}$`)

// taken says who has the name.
func (f *Facts) taken(r registration) Decision {
	if !f.named(r) || !writes.MatchString(r.write) {
		return Decision{Taken: fmt.Sprintf("%s belongs to %s, says the TXT record %s. Use another name, or delete the records there", f.Host, shortened(r.owner, 400), RegistrationOf(f.Host))}
	}
	who := "the copy of this object with the UID " + shortened(r.uid, 40)
	if r.uid == f.UID {
		who = "another copy of this object, with the same UID: one of both is of a backup"
	}
	return Decision{By: r.write, Taken: fmt.Sprintf("%s belongs to %s, says the TXT record %s (write=%s). That copy wrote it last, in another home, and nothing is written here",
		f.Host, who, RegistrationOf(f.Host), r.write)}
}
