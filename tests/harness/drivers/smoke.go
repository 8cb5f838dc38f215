// go-sql-driver through a socket: smoke SOCKET USER PASSWORD FILE. Prints `ok` at the end.
package main

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"

	"github.com/go-sql-driver/mysql"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	socket, user, password, file := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	mysql.RegisterLocalFile(file)
	db, err := sql.Open("mysql", fmt.Sprintf("%s:%s@unix(%s)/?multiStatements=true&maxAllowedPacket=0", user, password, socket))
	check(err)
	db.SetMaxOpenConns(20)
	db.SetMaxIdleConns(0)
	var one int
	check(db.QueryRow("SELECT 1").Scan(&one))
	_, err = db.Exec("CREATE DATABASE IF NOT EXISTS smoke; CREATE TABLE IF NOT EXISTS smoke.go (id INT PRIMARY KEY, body LONGTEXT); DELETE FROM smoke.go; CREATE TABLE IF NOT EXISTS smoke.`lines` (t TEXT); DELETE FROM smoke.`lines`")
	check(err)
	body := strings.Repeat("0123456789abcdef", 18<<16)
	statement, err := db.Prepare("INSERT INTO smoke.go VALUES (?, ?)")
	check(err)
	_, err = statement.Exec(1, body)
	check(err)
	var back, digest string
	check(db.QueryRow("SELECT body, SHA2(body, 256) FROM smoke.go WHERE id = ?", 1).Scan(&back, &digest))
	if back != body || digest != fmt.Sprintf("%x", sha256.Sum256([]byte(body))) {
		log.Fatal("bytes changed on their way")
	}
	_, err = db.Exec("LOAD DATA LOCAL INFILE '" + file + "' INTO TABLE smoke.`lines`")
	check(err)
	text, err := os.ReadFile(file)
	check(err)
	var lines int
	check(db.QueryRow("SELECT COUNT(*) FROM smoke.`lines`").Scan(&lines))
	if lines != strings.Count(string(text), "\n") {
		log.Fatalf("%d lines", lines)
	}
	var all sync.WaitGroup
	for n := 0; n < 500; n++ {
		all.Add(1)
		go func() {
			defer all.Done()
			var got int
			check(db.QueryRow("SELECT ?", n).Scan(&got))
			if got != n {
				log.Fatalf("%d is not %d", got, n)
			}
		}()
	}
	all.Wait()
	check(db.Close())
	fmt.Println("ok")
}
