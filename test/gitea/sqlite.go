// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"database/sql"
	"database/sql/driver"
	"strings"

	"code.gitea.io/gitea/modules/setting"
	"modernc.org/sqlite"
)

// Gitea's tag sqlite does the same with a driver that is written in C.
func init() {
	sql.Register("sqlite3", translated{&sqlite.Driver{}})
	setting.EnableSQLite3 = true
	setting.SupportedDatabaseTypes = append(setting.SupportedDatabaseTypes, "sqlite3")
}

// translated passes the parameters of the other driver on under their names here.
type translated struct{ driver.Driver }

func (d translated) Open(name string) (driver.Conn, error) {
	name = strings.Replace(name, "_busy_timeout=", "_pragma=busy_timeout%3D", 1)
	name = strings.Replace(name, "cache=shared", "cache=private", 1)
	return d.Driver.Open(name)
}
