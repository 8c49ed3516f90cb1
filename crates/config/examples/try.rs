fn main() {
    let p = std::env::args().nth(1).unwrap();
    let t = std::fs::read_to_string(&p).unwrap();
    match ostler_config::load(std::path::Path::new(&p), &t, &Default::default()) {
        Ok(c) => println!("{c:#?}"),
        Err(e) => {
            for x in e {
                println!("{x}\n")
            }
        }
    }
}
