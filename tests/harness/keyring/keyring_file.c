/* keyring_file for a MySQL 5.7 that comes without plug-ins.
 *
 * It stands in for the plug-in of that name: the same options, the same file ("Keyring file
 * version:1.0", docs/formats/keyring.md), for tests alone. Names and layouts are those of MySQL 5.7's
 * plug-in interface 1.7 (include/mysql/plugin.h) and keyring interface 1.1 (plugin_keyring.h, 5.7.21).
 * Every call reads the whole file, and a change replaces it: slow, simple, and no state to lose.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Exported by the server; it frees what a fetch returns. */
extern void *my_malloc(unsigned int instrumentation, size_t size, int flags);

/* The interface of the server. */

enum { KEYRING_PLUGIN = 10, LICENSE_GPL = 1, STRING_VARIABLE = 5, READ_ONLY = 0x200 };

typedef char my_bool;

struct keyring {
  int interface_version;
  my_bool (*store)(const char *id, const char *type, const char *user, const void *key, size_t length);
  my_bool (*fetch)(const char *id, char **type, const char *user, void **key, size_t *length);
  my_bool (*remove)(const char *id, const char *user);
  my_bool (*generate)(const char *id, const char *type, const char *user, size_t length);
  void (*iterator_init)(void **iterator);
  void (*iterator_deinit)(void *iterator);
  my_bool (*iterator_next)(void *iterator, char *id, char *user);
};

struct variable {
  int flags;
  const char *name;
  const char *comment;
  void *check;
  void *update;
  char **value;
  const char *def_val;
};

struct plugin {
  int type;
  void *info;
  const char *name;
  const char *author;
  const char *description;
  int license;
  int (*init)(void *);
  int (*deinit)(void *);
  unsigned int version;
  void *status_variables;
  struct variable **variables;
  void *reserved;
  unsigned long flags;
};

/* The file. */

static const char VERSION[] = "Keyring file version:1.0";
static const char END[] = "EOF";
static const char MASK[] = "*305=Ljt0*!@$Hnm(*-9-w;:";

static char *path;

struct entry {
  /* of the entry in the file, of id, type and user, and of the key */
  uint64_t lengths[5];
  const char *text;
};

struct contents {
  char *bytes;
  size_t length;
};

/* The entries, between the version and the end; none if there is no file yet. */
static int load(struct contents *contents) {
  struct stat about;
  int file = open(path, O_RDONLY);
  size_t around = strlen(VERSION) + strlen(END);
  char *bytes;
  contents->bytes = NULL;
  contents->length = 0;
  if (file < 0) return 0;
  if (fstat(file, &about) != 0 || (bytes = malloc(about.st_size + 1)) == NULL) goto failed;
  if (about.st_size == 0) {
    free(bytes);
    close(file);
    return 0;
  }
  if ((size_t)about.st_size < around || read(file, bytes, about.st_size) != about.st_size) {
    free(bytes);
    goto failed;
  }
  close(file);
  contents->length = about.st_size - around;
  contents->bytes = memmove(bytes, bytes + strlen(VERSION), contents->length);
  return 0;
failed:
  close(file);
  return 1;
}

static int save(const struct contents *contents) {
  char beside[4096];
  int file, failed;
  snprintf(beside, sizeof beside, "%s.backup", path);
  file = open(beside, O_WRONLY | O_CREAT | O_TRUNC, 0640);
  if (file < 0) return 1;
  failed = write(file, VERSION, strlen(VERSION)) < 0 || write(file, contents->bytes, contents->length) < 0 ||
           write(file, END, strlen(END)) < 0 || fsync(file) != 0;
  close(file);
  return failed || rename(beside, path) != 0;
}

/* The position of a key, or the length of all entries; what is there goes into `entry`. */
static size_t find(const struct contents *contents, const char *id, const char *user, struct entry *entry) {
  size_t at = 0;
  if (user == NULL) user = "";
  while (at + sizeof entry->lengths <= contents->length) {
    memcpy(entry->lengths, contents->bytes + at, sizeof entry->lengths);
    entry->text = contents->bytes + at + sizeof entry->lengths;
    if (entry->lengths[1] == strlen(id) && memcmp(entry->text, id, entry->lengths[1]) == 0 &&
        entry->lengths[3] == strlen(user) &&
        memcmp(entry->text + entry->lengths[1] + entry->lengths[2], user, entry->lengths[3]) == 0)
      return at;
    at += entry->lengths[0];
  }
  return contents->length;
}

static void mask(char *key, size_t length) {
  size_t at;
  for (at = 0; at < length; at++) key[at] ^= MASK[at % strlen(MASK)];
}

static my_bool fetch_key(const char *id, char **type, const char *user, void **key, size_t *length) {
  struct contents contents;
  struct entry entry;
  const char *text;
  if (load(&contents)) return 1;
  *key = NULL;
  *length = 0;
  if (find(&contents, id, user, &entry) < contents.length) {
    text = entry.text + entry.lengths[1];
    *type = my_malloc(0, entry.lengths[2] + 1, 0);
    memcpy(*type, text, entry.lengths[2]);
    (*type)[entry.lengths[2]] = 0;
    *length = entry.lengths[4];
    *key = my_malloc(0, *length, 0);
    memcpy(*key, text + entry.lengths[2] + entry.lengths[3], *length);
    mask(*key, *length);
  }
  free(contents.bytes);
  return 0;
}

static char *append(char *to, const void *from, size_t length) {
  memcpy(to, from, length);
  return to + length;
}

static my_bool store_key(const char *id, const char *type, const char *user, const void *key, size_t length) {
  struct contents contents;
  struct entry entry;
  size_t size;
  char *to, *bytes;
  int failed = 1;
  if (user == NULL) user = "";
  if (load(&contents)) return 1;
  if (find(&contents, id, user, &entry) == contents.length) {
    uint64_t lengths[5] = {0, strlen(id), strlen(type), strlen(user), length};
    size = sizeof lengths + lengths[1] + lengths[2] + lengths[3] + length;
    lengths[0] = (size + 7) / 8 * 8;
    bytes = calloc(1, contents.length + lengths[0]);
    to = append(bytes, contents.length ? contents.bytes : "", contents.length);
    to = append(to, lengths, sizeof lengths);
    to = append(to, id, lengths[1]);
    to = append(to, type, lengths[2]);
    to = append(to, user, lengths[3]);
    mask(append(to, key, length) - length, length);
    free(contents.bytes);
    contents.bytes = bytes;
    contents.length += lengths[0];
    failed = save(&contents);
  }
  free(contents.bytes);
  return failed;
}

static my_bool remove_key(const char *id, const char *user) {
  struct contents contents;
  struct entry entry;
  size_t at, next;
  int failed = 1;
  if (load(&contents)) return 1;
  at = find(&contents, id, user, &entry);
  if (at < contents.length) {
    next = at + entry.lengths[0];
    memmove(contents.bytes + at, contents.bytes + next, contents.length - next);
    contents.length -= entry.lengths[0];
    failed = save(&contents);
  }
  free(contents.bytes);
  return failed;
}

static my_bool generate_key(const char *id, const char *type, const char *user, size_t length) {
  char key[2048];
  int failed, random = open("/dev/urandom", O_RDONLY);
  if (random < 0) return 1;
  failed = length > sizeof key || read(random, key, length) != (ssize_t)length;
  close(random);
  return failed || store_key(id, type, user, key, length);
}

/* Keys are listed for the migration from keyring to keyring alone, which no test runs: there are none. */

static void iterator_init(void **iterator) { *iterator = NULL; }

static void iterator_deinit(void *iterator) { (void)iterator; }

static my_bool iterator_next(void *iterator, char *id, char *user) {
  (void)iterator;
  (void)id;
  (void)user;
  return 1;
}

static int init(void *unused) {
  struct contents contents;
  (void)unused;
  if (path == NULL || load(&contents)) return 1;
  free(contents.bytes);
  return 0;
}

static int deinit(void *unused) {
  (void)unused;
  return 0;
}

static struct keyring descriptor = {0x0101,        store_key,       fetch_key,    remove_key,
                                    generate_key, iterator_init, iterator_deinit, iterator_next};
static struct variable data = {STRING_VARIABLE | READ_ONLY, "data", "The keyring file", NULL, NULL, &path, NULL};
static struct variable *variables[] = {&data, NULL};

int _mysql_plugin_interface_version_ = 0x0107;
int _mysql_sizeof_struct_st_plugin_ = sizeof(struct plugin);
struct plugin _mysql_plugin_declarations_[] = {
    {KEYRING_PLUGIN, &descriptor, "keyring_file", "Sealant's tests", "store/fetch authentication data to/from a flat file",
     LICENSE_GPL, init, deinit, 0x0100, NULL, variables, NULL, 0},
    {0, NULL, NULL, NULL, NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, 0},
};
